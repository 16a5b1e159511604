export type ReleaseStack = {
  /** Adds a step that undoes what was just started. */
  defer(name: string, release: () => Promise<unknown> | unknown): void
  /** Runs every step in reverse order, each one even when another fails; throws the first error at the end. */
  release(): Promise<void>
}

/** Remembers how to undo what was started: what goes up first comes down last. `onError` hears every failed step. */
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
