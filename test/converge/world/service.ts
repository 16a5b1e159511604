import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { steer } from '../../kit/steer.ts'
import type { HandClock } from './clock.ts'

/** The stand-in service of one run, with a rider who has done nothing yet. */
export type TestService = Awaited<ReturnType<typeof openTestService>>

/** Starts a service that lives by the true time of `clock`. */
export async function openTestService(clock: HandClock) {
  const { url, close } = await startSandbox({ activities: 0, sampleDelayMs: 0, now: clock.now })
  return {
    url,
    close,
    /** asks or orders it under /_sandbox/ */
    steer: (method: string, path: string, body?: unknown) => steer(url, method, path, body),
  }
}
