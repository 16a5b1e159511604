import { CredentialsRejectedError, errorCode, errorLine } from '../../../src/kit/errors.ts'
import { HOUR, SECOND } from '../../../src/kit/time.ts'
import { findDifferences } from '../truth/differences.ts'
import type { RunDatabase } from '../world/database.ts'
import { takeStep } from './pass.ts'
import type { Plan } from './plan.ts'
import { openScene, type Scene } from './scene.ts'
import { endTrouble } from './trouble.ts'

/** More than the longest pause that the mirror makes by itself, and than any samples of a plan take. */
const QUIET_MS = 60 * HOUR

/**
 * Carries a plan out: changes, trouble and passes; then quiet, and two passes. Returns every difference between the
 * database and the service, and every error on the way that the mirror has no word for; none, when the mirror is right.
 */
export async function runPlan(database: RunDatabase, plan: Plan): Promise<string[]> {
  const scene = await openScene(database, plan)
  try {
    for (const step of plan.steps) {
      scene.clock.advance(SECOND)
      await takeStep(scene, step)
    }
    await settle(scene)
    return [...scene.complaints, ...(await findDifferences(scene))]
  } finally {
    await scene.close()
  }
}

/** Quiet: nothing is in the way any more, every pause is over, and the mirror passes twice in a process of its own. */
export async function settle(scene: Scene): Promise<void> {
  await scene.drop(0)
  await scene.drop(1)
  await endTrouble(scene)
  scene.clock.passAll(QUIET_MS)
  const patient = await scene.openPatient()
  const pass = () =>
    patient.pass({ account: scene.account, concurrency: 4, full: true, acceptRemovals: true })
  try {
    // A rotation of tokens whose answer was lost ends a login; then a person signs in again.
    await pass().catch(async (error: unknown) => {
      if (!(error instanceof CredentialsRejectedError)) throw error
      await patient.signIn()
      await pass()
    })
    scene.clock.advance(SECOND)
    await pass()
  } catch (error) {
    scene.complaints.push(`a pass in all quiet ended with ${errorCode(error)}: ${errorLine(error)}`)
  } finally {
    await patient.close()
  }
}
