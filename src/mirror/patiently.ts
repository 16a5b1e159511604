import { RateLimitedError } from '../kit/errors.ts'
import type { MirrorDeps } from './account.ts'

/** Does `work` again after a rate limit, which is no failure: the service's pacer waits as told before it lets a call through. */
export async function patiently<T>(deps: Pick<MirrorDeps, 'log'>, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof RateLimitedError)) throw error
      deps.log.warn({ waitMs: error.retryAfterMs }, 'the service asks to wait')
    }
  }
}
