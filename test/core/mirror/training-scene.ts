import type { MirrorCounts, MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import { mirrorTrainingInfo } from '../../../src/core/mirror/training/poll-training-info.ts'
import { mirrorWorkouts } from '../../../src/core/mirror/training/poll-workouts.ts'
import type { Account } from '../../../src/core/store/account-rows.ts'
import { signInWithPassword } from '../../../src/program/app/sign-in.ts'
import { openRig, type Rig } from './rig.ts'

export type Scene = Rig & {
  deps: MirrorDeps
  pollInfo(account?: Account): Promise<MirrorCounts>
  pollWorkouts(account?: Account): Promise<MirrorCounts>
  signIn(rider: string): Promise<Account>
  /** answers every training info (or another path) with this body and status 200, until `heal` */
  answer(body: unknown, path?: string): Promise<void>
  fault(path: string, fault: Record<string, unknown>): Promise<void>
  heal(): Promise<void>
  /** requests by route since the last call */
  requests(): Promise<Record<string, number>>
}

/** Opens a sandbox, a database and an App between them, signed in as the rider. */
export async function openScene(env: Record<string, string> = {}): Promise<Scene> {
  const rig = await openRig({ activities: 2, env })
  const deps = rig.app.mirror
  const fault = async (path: string, planned: Record<string, unknown>) => {
    await rig.steer('POST', 'faults', { method: 'GET', path, times: 'always', ...planned })
  }
  return {
    ...rig,
    deps,
    fault,
    pollInfo: (account = rig.account) => mirrorTrainingInfo(deps, { account }),
    pollWorkouts: (account = rig.account) => mirrorWorkouts(deps, { account }),
    signIn: (rider) =>
      signInWithPassword(rig.app, { name: rider, username: rider, password: rider, keepPassword: false }),
    answer: (body, path = '^/oauth/training_info$') => fault(path, { kind: 'status', status: 200, body }),
    async heal() {
      await rig.steer('DELETE', 'faults')
    },
    async requests() {
      const { requests } = (await rig.steer('GET', 'counts')) as { requests: Record<string, number> }
      await rig.steer('POST', 'counts/reset')
      return requests
    },
  }
}
