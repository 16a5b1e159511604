/**
 * Runs `work` for each item, in their order and `atOnce` at a time. When one throws, no other item is begun, and the error is thrown
 * when those under way have ended.
 */
export async function eachAtOnce<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
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
