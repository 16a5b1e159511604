/** A signal that aborts with the outer one, or with an error of code `ETIMEDOUT` after a time. */
export type Deadline = { signal: AbortSignal; clear(): void }

/**
 * Makes a deadline of `ms` under an outer signal. The listener is taken off again by `clear`: the outer signal lives as
 * long as the process, and AbortSignal.any would hold on to every request made under it.
 */
export function makeDeadline(ms: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController()
  const follow = (): void => controller.abort(outer?.reason)
  if (outer?.aborted) follow()
  else outer?.addEventListener('abort', follow, { once: true })
  const timer = setTimeout(() => {
    controller.abort(Object.assign(new Error('the deadline has passed'), { code: 'ETIMEDOUT' }))
  }, ms)
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', follow)
    },
  }
}
