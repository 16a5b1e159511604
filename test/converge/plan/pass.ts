import {
  CredentialsRejectedError,
  errorCode,
  errorLine,
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../../../src/kit/errors.ts'
import { MINUTE } from '../../../src/kit/time.ts'
import type { Around } from '../world/process.ts'
import { makeChange } from './change.ts'
import type { Hold, Pass, Step } from './plan.ts'
import type { Scene } from './scene.ts'
import { isTrouble, makeTrouble } from './trouble.ts'

export async function takeStep(scene: Scene, step: Step): Promise<void> {
  if (step.do === 'pass') return takePass(scene, step)
  if (!isTrouble(step)) return makeChange(scene, step)
  await makeTrouble(scene, step)
  if (step.do === 'skew' && step.side === 'service') await showSkew(scene, step.minutes * MINUTE)
}

/** One pass of the first worker, with what befalls it. An error of the kinds that are to be expected ends it, no more. */
async function takePass(scene: Scene, pass: Pass): Promise<void> {
  const worker = await scene.worker(0)
  const death = new AbortController()
  const broken = pass.break
  if (broken) {
    worker.line.plan(broken, () => {
      if (!broken.dies) return
      worker.line.die()
      death.abort(new Error('the process dies'))
    })
  }
  try {
    await worker.pass({
      account: scene.account,
      concurrency: pass.concurrency,
      full: pass.full,
      signal: death.signal,
      ...(pass.hold && { around: holdOnce(scene, pass.hold) }),
    })
  } catch (error) {
    if (!death.signal.aborted) complain(scene, error)
  }
  await worker.line.unplan()
  if (death.signal.aborted) await scene.drop(0)
}

/**
 * Lets the mirror see a clock of the service that was set back by more than the lag. One that is wrong and right again
 * between two polls shows in no answer, for the list holds no update times: what changes meanwhile is lost on anyone.
 */
async function showSkew(scene: Scene, skewMs: number): Promise<void> {
  const { skew } = scene
  const isSeenAnyway = skew.highestMs - skewMs <= Math.max(0, scene.lagMs - MINUTE)
  skew.highestMs = Math.max(skew.highestMs, skewMs)
  if (isSeenAnyway) return
  await scene.service.steer('DELETE', 'faults')
  const patient = await scene.openPatient()
  try {
    await patient.signIn()
    await patient.pass({ account: scene.account, concurrency: 4, full: false })
  } catch (error) {
    // The list has been seen; activities that are broken may well end the rest.
    complain(scene, error)
  } finally {
    await patient.close()
  }
  skew.highestMs = skewMs
}

/** Holds one request, or its answer, until other things have happened. */
function holdOnce(scene: Scene, hold: Hold): Around {
  let count = 0
  return async (when, path) => {
    if (when !== hold.when || (path === undefined) !== (hold.on === 'list')) return
    count += 1
    if (count !== hold.at) return
    scene.heldPath = path
    for (const step of hold.during) {
      if (step.do === 'other') await passOfOther(scene, step.how)
      else await takeStep(scene, step)
    }
  }
}

async function passOfOther(scene: Scene, how: 'poll' | 'pass' | 'full'): Promise<void> {
  const { account } = scene
  try {
    const other = await scene.worker(1)
    if (how === 'poll') await other.poll(account)
    else await other.pass({ account, concurrency: 1, full: how === 'full' })
  } catch (error) {
    complain(scene, error)
  }
}

const EXPECTED = [
  ...[TransientError, RateLimitedError, RejectedError, UnexpectedResponseError, CredentialsRejectedError],
]

function complain(scene: Scene, error: unknown): void {
  if (EXPECTED.some((kind) => error instanceof kind)) return
  scene.complaints.push(`a pass ended with ${errorCode(error)}: ${errorLine(error)}`)
}
