import { beforeEach } from 'vitest'
import type { MirrorCounts, MirrorDeps } from '../../../src/core/mirror/mirror.ts'
import { mirrorTrainingInfo } from '../../../src/core/mirror/poll-training-info.ts'
import { mirrorWorkouts } from '../../../src/core/mirror/poll-workouts.ts'
import type { Account } from '../../../src/core/store/account-rows.ts'
import { signInWithPassword } from '../../../src/program/app/sign-in.ts'
import { openForAll } from '../../kit/open-for.ts'
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

/**
 * Opens one scene for all tests of a file. Before each test, nothing is mirrored, and the sandbox has no planned failures and all its
 * workouts.
 */
export function useScene(): Scene {
  const scene = openForAll(openScene)
  beforeEach(async () => {
    await scene.heal()
    await scene.steer('PATCH', 'settings', { workout_dialect: 'both', wotd_type: 'Scheduled' })
    const tables =
      'workouts, workout_definitions, workout_sets, workout_files, training_info, sync_runs, drift'
    await scene.rows(`truncate ${tables.replaceAll(/\w+/g, 'training.$&')} cascade`)
    scene.log.lines.length = 0
  })
  return scene
}
