/** Runs work with an open resource, and closes the resource. */
export async function closeAfter<Part extends { close(): Promise<unknown> }, T>(
  part: Part,
  work: (part: Part) => Promise<T>,
): Promise<T> {
  try {
    return await work(part)
  } finally {
    await part.close()
  }
}

/** Starts work that ends when its signal aborts and never throws. `close` aborts the signal and waits for the end of the work. */
export function startWork(work: (signal: AbortSignal) => Promise<unknown>) {
  const halt = new AbortController()
  const working = work(halt.signal)
  return {
    async close(): Promise<void> {
      halt.abort()
      await working
    },
  }
}

export type ReleaseStack = ReturnType<typeof makeReleaseStack>

/** Makes a stack of steps that stop started parts in reverse order. `onError` is called for each failed step. */
export function makeReleaseStack(onError?: (step: string, error: unknown) => void) {
  const steps: Array<{ name: string; release: () => Promise<unknown> | unknown }> = []
  return {
    /** Adds the step that stops a part that was just started. `name` is for the log. */
    defer(name: string, release: () => Promise<unknown> | unknown): void {
      steps.push({ name, release })
    },
    /** Runs every step in reverse order, even after a failed one. Throws the first error at the end. */
    async release(): Promise<void> {
      let failed = false
      let first: unknown
      for (let step = steps.pop(); step; step = steps.pop()) {
        try {
          await step.release()
        } catch (error) {
          onError?.(step.name, error)
          if (!failed) first = error
          failed = true
        }
      }
      if (failed) throw first
    },
  }
}
