export type ByteBudget = <T>(bytes: number, work: () => Promise<T>) => Promise<T>

/**
 * Makes a budget of memory that pieces of work share: each waits, in the order they came, until its bytes fit beside those of
 * the others. One that is larger than the whole budget works alone.
 */
export function makeByteBudget(total: number): ByteBudget {
  const waiting: Array<{ bytes: number; begin: () => void }> = []
  let held = 0
  const admit = () => {
    for (let next = waiting[0]; next && (held === 0 || held + next.bytes <= total); next = waiting[0]) {
      waiting.shift()
      held += next.bytes
      next.begin()
    }
  }
  return async (bytes, work) => {
    await new Promise<void>((begin) => {
      waiting.push({ bytes, begin })
      admit()
    })
    try {
      return await work()
    } finally {
      held -= bytes
      admit()
    }
  }
}
