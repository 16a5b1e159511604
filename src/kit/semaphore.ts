/** Keeps a place of a semaphore until `release`, if the work that took the place has set `isTaken`. */
export type Hold = { isTaken: boolean; readonly release: () => void; readonly released: Promise<void> }

/** Runs work with a hold, which is released when the work ends. */
export async function withHold<T>(work: (hold: Hold) => Promise<T>): Promise<T> {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  try {
    return await work({ isTaken: false, release, released })
  } finally {
    release()
  }
}

export type Semaphore = <T>(units: number, work: () => Promise<T>) => Promise<T>

/**
 * Makes a semaphore over `total` units (bytes, or places). Work starts in the order of the calls, once its units and the running work's units
 * fit into the total. Work with more units than the total runs alone.
 */
export function makeSemaphore(total: number): Semaphore {
  const waiting: Array<{ units: number; begin: () => void }> = []
  let taken = 0
  const admit = () => {
    for (let next = waiting[0]; next && (taken === 0 || taken + next.units <= total); next = waiting[0]) {
      waiting.shift()
      taken += next.units
      next.begin()
    }
  }
  return async (units, work) => {
    await new Promise<void>((begin) => {
      waiting.push({ units, begin })
      admit()
    })
    try {
      return await work()
    } finally {
      taken -= units
      admit()
    }
  }
}

/** Runs `work` for each item in order, `atOnce` concurrently. After an error, starts no further work, and throws the error once the running work has ended. */
export async function eachAtOnce<T>(items: Iterable<T>, atOnce: number, work: (item: T) => Promise<void>) {
  // If one worker throws, a generator ends for all workers; the iterator of an array does not.
  const queue = passOn(items)
  const worker = async () => {
    for (const item of queue) await work(item)
  }
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, worker))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

function* passOn<T>(items: Iterable<T>): Generator<T> {
  yield* items
}
