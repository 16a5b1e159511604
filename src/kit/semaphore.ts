/** Keeps a place of a semaphore until `release`, when the work that took it has left it to the hold. */
export type Hold = { isTaken: boolean; readonly release: () => void; readonly released: Promise<void> }

/** Runs work with a hold that ends with the work. */
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
 * Makes a semaphore over `total` units (bytes, or places): work runs in the order of the calls, each as soon as its units and
 * those of the running work fit into the total. Work of more units than the total runs alone.
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

/** Runs `work` for each item, in order and `atOnce` at a time. The first error is thrown when those under way have ended. */
export async function eachAtOnce<T>(items: Iterable<T>, atOnce: number, work: (item: T) => Promise<void>) {
  // A generator ends for all workers when one of them throws; the iterator of an array does not.
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
