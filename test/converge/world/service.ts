import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { HandClock } from './clock.ts'

/** The stand-in service of one run, with a rider who has done nothing yet. */
export type TestService = {
  url: string
  /** asks or orders it under /_sandbox/ */
  steer(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>
  close(): Promise<void>
}

/** Starts a service that lives by the true time of `clock`. */
export async function openTestService(clock: HandClock): Promise<TestService> {
  const sandbox = await startSandbox({ activities: 0, sampleDelayMs: 0, now: clock.now })
  return {
    url: sandbox.url,
    async steer(method, path, body) {
      const answer = await fetch(`${sandbox.url}/_sandbox/${path}`, {
        method,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      if (!answer.ok) throw new Error(`${method} /_sandbox/${path}: ${answer.status} ${text}`)
      return JSON.parse(text)
    },
    close: () => sandbox.close(),
  }
}
