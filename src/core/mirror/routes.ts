import { compareTracks, decodePoints } from '../normalize/track.ts'
import type { MirrorDeps } from './mirror.ts'

/** Finds the routes of activities that have no route yet or a changed track, one activity per transaction, so that the work can resume. Throws the signal's reason. */
export async function updateRoutes({ store, log }: Pick<MirrorDeps, 'store' | 'log'>, signal?: AbortSignal) {
  let found = 0
  const findNext = () =>
    store.transaction(async ({ client }) => {
      const { rows } = await client.query<{ id: number; points: Buffer }>(
        'SELECT * FROM musette.begin_route()',
      )
      const [track, ...others] = rows.map(({ points }) => decodePoints(points))
      if (!track) return false
      const [id, ...ids] = rows.map((row) => row.id)
      const shares = compareTracks(track, others)
      await client.query('SELECT musette.record_route($1, $2, $3)', [id, ids, shares])
      return true
    })
  while (await findNext()) {
    signal?.throwIfAborted()
    found++
  }
  if (found > 0) log.info({ activities: found }, 'found the routes of activities')
}
