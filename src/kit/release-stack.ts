export type ReleaseStack = {
  /** Adds the step that stops a part which was just started; `name` is for the log. */
  defer(name: string, release: () => Promise<unknown> | unknown): void
  /** Runs every step in reverse order, also after a failed one; throws the first error at the end. */
  release(): Promise<void>
}

/** Makes a stack of steps that stop the started parts in reverse order. `onError` is called for every failed step. */
export function makeReleaseStack(onError?: (step: string, error: unknown) => void): ReleaseStack {
  const steps: Array<{ name: string; release: () => Promise<unknown> | unknown }> = []
  return {
    defer(name, release) {
      steps.push({ name, release })
    },
    async release() {
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
