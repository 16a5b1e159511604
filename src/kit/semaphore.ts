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
