/** Items that wait in several queues; the queues take turns, and within one the first come is the first served. */
export type FairQueue<T> = {
  add(queue: string, item: T): void
  /** Takes the next item that may go; its queue then stands last. Undefined when none may. */
  take(may: (item: T) => boolean): T | undefined
  remove(queue: string, item: T): void
  list(): T[]
  drain(): T[]
  size(): number
}

/** Makes an empty fair queue. */
export function makeFairQueue<T>(): FairQueue<T> {
  // A Map remembers the order of insertion, so a queue that is taken out and put in again stands last.
  const queues = new Map<string, T[]>()
  const list = (): T[] => [...queues.values()].flat()

  const remove = (queue: string, item: T): boolean => {
    const items = queues.get(queue)
    const index = items?.indexOf(item) ?? -1
    if (!items || index < 0) return false
    items.splice(index, 1)
    if (items.length === 0) queues.delete(queue)
    return true
  }

  return {
    add(queue, item) {
      const items = queues.get(queue)
      if (items) items.push(item)
      else queues.set(queue, [item])
    },
    take(may) {
      for (const [queue, items] of queues) {
        const item = items.find(may)
        if (item === undefined) continue
        remove(queue, item)
        const rest = queues.get(queue)
        if (rest) {
          queues.delete(queue)
          queues.set(queue, rest)
        }
        return item
      }
      return undefined
    },
    remove,
    list,
    drain() {
      const items = list()
      queues.clear()
      return items
    },
    size: () => list().length,
  }
}
