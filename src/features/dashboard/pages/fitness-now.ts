import type { Tx } from '../../../core/store/store.ts'

/** The newest training info (service document, endpoint 3). */
type FitnessNow = {
  seen_at: Date
  status: string | null
  weight_kg: number | null
  ftp: number | null
  ltp: number | null
  hie_kj: number | null
  pp: number | null
  tl_total: number | null
  /** the recommended load of today, before today's ride, see the view recommended_load */
  recommended_xss: number | null
}

/** Finds an account's fitness from the newest training info (service document, endpoint 3); undefined before the first. */
export async function findFitnessNow(tx: Tx, accountId: number): Promise<FitnessNow | undefined> {
  const { rows } = await tx.client.query<FitnessNow>(
    `select last_seen_at as seen_at, status, weight_kg, ftp, ltp, hie as hie_kj, pp, tl_total,
       (select r.xss from training.recommended_load r join training.today t using (account_id, day) where account_id = $1) as recommended_xss
     from training.training_info where account_id = $1 order by observed_at desc limit 1`,
    [accountId],
  )
  return rows[0]
}

/** Counts an account's activities, and how many of them are still to be fetched. */
export async function countToFetch(tx: Tx, accountId: number) {
  const { rows } = await tx.client.query<{ all: number; to_fetch: number }>(
    `select count(*)::int as all, count(*) filter (where fetched_at is null)::int as to_fetch
     from training.activities where account_id = $1 and absent_since is null`,
    [accountId],
  )
  return rows[0] ?? { all: 0, to_fetch: 0 }
}

/** Finds an account's seasons (calendar years with a power curve), newest first. */
export async function findSeasons(tx: Tx, accountId: number): Promise<number[]> {
  const { rows } = await tx.client.query<{ season: number }>(
    `select distinct season from training.power_bests where account_id = $1 and span = 'season' order by season desc`,
    [accountId],
  )
  return rows.map(({ season }) => season)
}

/** Finds an account's sports, most frequent first. */
export async function findSports(tx: Tx, accountId: number): Promise<string[]> {
  const { rows } = await tx.client.query<{ sport: string }>(
    `select sport from training.activities where account_id = $1 and absent_since is null group by 1 order by count(*) desc, 1`,
    [accountId],
  )
  return rows.map(({ sport }) => sport)
}
