import { compareTracks } from '../normalize/track.ts'
import { recordNextRoute } from '../store/activities/route-rows.ts'
import type { MirrorDeps } from './mirror.ts'

/** Finds the route of each activity that has none yet or another track, in a transaction each: a stopped call can be repeated. Throws the signal's reason. */
export async function updateRoutes({ store, log }: Pick<MirrorDeps, 'store' | 'log'>, signal?: AbortSignal) {
  let found = 0
  while (await store.transaction((tx) => recordNextRoute(tx, compareTracks))) {
    signal?.throwIfAborted()
    found++
  }
  if (found > 0) log.info({ activities: found }, 'the routes of activities were found')
}
