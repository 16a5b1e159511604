import { startAgoClock } from './ago.ts'
import { ask, type Problem } from './ask.ts'
import { showState } from './state.ts'

/** A problem is asked about less and less often, up to this. */
const LONGEST_PAUSE_MS = 15_000

/** What is done with an answer; a problem met on the way is shown, and the same answer handed over again. */
type OnData<T> = (data: T) => Problem | undefined | Promise<Problem | undefined>

/**
 * Asks for `path` again and again, one question at a time, and hands on every answer that is new. It rests while nobody
 * looks at the page, and asks at once when somebody does again. How it goes is shown in the page's frame.
 */
export async function follow<T>(
  path: string,
  options: { everyMs: number; onData: OnData<T> },
): Promise<never> {
  startAgoClock()
  let etag: string | undefined
  let problems = 0
  for (;;) {
    await untilVisible()
    const answer = await ask<T>(path, etag)
    const problem =
      answer.kind === 'data'
        ? await options.onData(answer.data)
        : answer.kind === 'problem'
          ? answer.problem
          : undefined
    if (answer.kind === 'data' && !problem) etag = answer.etag
    showState(problem ?? undefined)
    problems = problem ? problems + 1 : 0
    await pause(Math.min(Math.max(options.everyMs, LONGEST_PAUSE_MS), options.everyMs * 1.5 ** problems))
  }
}

function untilVisible(): Promise<void> {
  if (!document.hidden) return Promise.resolve()
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return
      document.removeEventListener('visibilitychange', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
  })
}

/** Ends early when somebody comes back to the page, or the network does. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', end)
      removeEventListener('online', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    document.addEventListener('visibilitychange', end)
    addEventListener('online', end)
  })
}
