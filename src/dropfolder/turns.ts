export type Turns = <T>(work: () => Promise<T>) => Promise<T>

/** Makes a gate that lets so many pieces of work run at once; the others wait in the order they came. */
export function makeTurns(atOnce: number): Turns {
  const waiting: Array<() => void> = []
  let running = 0
  return async (work) => {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      // The place is handed to the next in line; only when nobody waits is it free.
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
