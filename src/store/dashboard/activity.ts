import type { Tx } from '../store.ts'
import { ACTIVITY_LINE, type ActivityLine } from './activities.ts'

/** Everything that is told of one activity, besides its samples. */
export type ActivityFacts = ActivityLine & {
  account_id: number
  path: string
  description: string | null
  timezone: string | null
  started_at: Date | null
  sample_count: number | null
  max_power: number | null
  max_cadence: number | null
  elevation_gain_m: number | null
  energy_kcal: number | null
  xlss: number | null
  xhss: number | null
  xpss: number | null
  focus: string | null
  specificity: string | null
  difficulty: number | null
  difficulty_rating: string | null
  sig_ftp: number | null
  sig_atc: number | null
  sig_pp: number | null
  prev_sig_ftp: number | null
  medal: number | null
  freshness: string | null
  /** the drop folder's file that it came from */
  file_name: string | null
  fetch_error: string | null
  next_fetch_at: Date | null
  absent_since: Date | null
  fetched_at: Date | null
  /** how often the service has changed it */
  revisions: number
}

/** Finds one activity, also an absent one; undefined when there is none of that key. */
export async function findActivityFacts(tx: Tx, activityId: number): Promise<ActivityFacts | undefined> {
  const { rows } = await tx.client.query<ActivityFacts>(
    `select ${ACTIVITY_LINE}, v.account_id, v.path, v.description, v.timezone, v.started_at, v.sample_count, v.max_power,
       v.max_cadence, v.total_elevation_gain as elevation_gain_m, v.total_calories as energy_kcal, v.xlss, v.xhss, v.xpss,
       v.focus, v.specificity, v.difficulty, v.difficulty_rating, v.sig_ftp, v.sig_atc, v.sig_pp, v.prev_sig_ftp, v.medal,
       v.freshness, v.fetch_error, v.next_fetch_at, v.absent_since, v.fetched_at,
       (select u.file_name from training.uploads u where u.activity_id = v.activity_id order by u.seen_at limit 1) as file_name,
       (select count(*)::int from training.activity_revisions r where r.activity_id = v.activity_id) as revisions
     from training.activities v join training.accounts a using (account_id)
     where v.activity_id = $1`,
    [activityId],
  )
  return rows[0]
}

export type Neighbours = { older_id: number | null; newer_id: number | null }

/** Finds the listed activities of the same account that started just before and just after one. */
export async function findNeighbours(tx: Tx, activityId: number): Promise<Neighbours> {
  const beside = (sign: '<' | '>', order: 'asc' | 'desc') =>
    `(select n.activity_id from training.activities n
      where n.account_id = v.account_id and n.absent_since is null
        and (n.started_at, n.activity_id) ${sign} (v.started_at, v.activity_id)
      order by n.started_at ${order}, n.activity_id ${order} limit 1)`
  const { rows } = await tx.client.query<Neighbours>(
    `select ${beside('<', 'desc')} as older_id, ${beside('>', 'asc')} as newer_id
     from training.activities v where v.activity_id = $1`,
    [activityId],
  )
  return rows[0] ?? { older_id: null, newer_id: null }
}
