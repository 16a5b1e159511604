import type { MirrorCounts, MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import { mirrorTrainingInfo } from '../../../src/core/mirror/poll-training-info.ts'
import { mirrorWorkouts } from '../../../src/core/mirror/poll-workouts.ts'
import type { Account } from '../../../src/core/store/account-rows.ts'
import { signInWithPassword } from '../../../src/program/app/sign-in.ts'
import { openRig, type Rig } from './rig.ts'

export type Scene = Rig & {
  deps: MirrorDeps
  pollInfo(account?: Account): Promise<MirrorCounts>
  pollWorkouts(account?: Account): Promise<MirrorCounts>
  signIn(rider: string): Promise<Account>
}

/** Opens a sandbox, a database and an App between them, signed in as the rider. */
export async function openScene(env: Record<string, string> = {}): Promise<Scene> {
  const rig = await openRig({ activities: 2, env })
  const deps = rig.app.mirror
  return {
    ...rig,
    deps,
    pollInfo: (account = rig.account) => mirrorTrainingInfo(deps, { account }),
    pollWorkouts: (account = rig.account) => mirrorWorkouts(deps, { account }),
    signIn: (rider) =>
      signInWithPassword(rig.app, { name: rider, username: rider, password: rider, keepPassword: false }),
  }
}
