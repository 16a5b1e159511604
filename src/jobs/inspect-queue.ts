import { type Clock, within } from '../kit/time.ts'
import { type BackendChoice, CONNECTION_MS, fetchRedisFacts, hasQueueTables, makeBackend } from './backend.ts'
import type { Intervals } from './catalog.ts'
import { fetchCounts, fetchPaused, makeQueues } from './queues.ts'
import { fetchSchedules, fetchVerdict, wantedSchedules } from './schedules.ts'

/** Jobs by queue and state, the paused queues, and the schedules: how many there must be, and the ids of the wrong ones. */
export type QueueFacts = NonNullable<Awaited<ReturnType<typeof inspectQueue>>>

/**
 * Fetches facts about the queue without changing it, with or without a running daemon. Returns undefined when no daemon has
 * made a queue in this Postgres yet. Throws the backend's errors.
 */
export async function inspectQueue(
  deps: { clock: Clock },
  input: { backend: BackendChoice; accounts: readonly number[]; every: Intervals },
) {
  const { backend: choice } = input
  // A queue waits for its Redis forever; this request fails at once.
  if (choice.kind === 'redis') await fetchRedisFacts(choice.url)
  else if (!(await hasQueueTables(choice.url))) return undefined
  const backend = makeBackend(choice)
  const queues = makeQueues({ backend, onError: () => undefined })
  try {
    await Promise.all(Object.values(queues).map((queue) => queue.waitUntilReady()))
    const counts = await fetchCounts({ queues })
    const paused = await fetchPaused({ queues })
    const found = await fetchSchedules(queues.polls)
    const now = deps.clock().getTime()
    const wanted = wantedSchedules(input.accounts, input.every)
    const wrong: string[] = []
    for (const schedule of wanted) {
      const verdict = await fetchVerdict(queues.polls, found.get(schedule.id), schedule, now)
      if (verdict !== 'fine') wrong.push(schedule.id)
    }
    return { counts, paused, schedules: { wanted: wanted.length, wrong } }
  } finally {
    for (const queue of Object.values(queues)) await within(queue.close(), CONNECTION_MS)
    await backend.close()
  }
}
