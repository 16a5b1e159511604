import type { Tx } from '../store.ts'

/**
 * Finds the route of one activity that has none yet, or whose track has changed, and records it; false without any. `compare` gets its track
 * and those that may be alike, as latitudes and longitudes in turns, millionths of a degree, and returns what each has in common with it.
 */
export async function recordNextRoute(
  tx: Tx,
  compare: (track: Int32Array, others: readonly Int32Array[]) => readonly number[],
): Promise<boolean> {
  const { rows } = await tx.client.query<{ id: number; points: Buffer }>(
    'SELECT * FROM musette.begin_route()',
  )
  // A copy begins where an array of numbers may.
  const [track, ...others] = rows.map(({ points }) => new Int32Array(new Uint8Array(points).buffer))
  if (!track) return false
  const [id, ...ids] = rows.map((row) => row.id)
  await tx.client.query('SELECT musette.record_route($1, $2, $3)', [id, ids, compare(track, others)])
  return true
}
