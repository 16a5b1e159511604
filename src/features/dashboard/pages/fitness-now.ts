import type { Tx } from '../../../core/store/store.ts'
import { rowsOf } from './rows-of.ts'

/** The newest training info (service document, endpoint 3). */
type FitnessNow = Record<'weight_kg' | 'ftp' | 'ltp' | 'hie_kj' | 'pp' | 'tl_total', number | null> & {
  seen_at: Date
  status: string | null
  /** the load recommended for today before today's ride, see the view recommended_load */
  recommended_xss: number | null
}

/**
 * Finds an account's fitness from its newest training info (service document, endpoint 3); undefined if the account has no training info
 * yet.
 */
export async function findFitnessNow(tx: Tx, accountId: number): Promise<FitnessNow | undefined> {
  const [row] = await rowsOf<FitnessNow>(tx)`
     select last_seen_at as seen_at, status, weight_kg, ftp, ltp, hie as hie_kj, pp, tl_total,
       (select r.xss from training.recommended_load r join training.today t using (account_id, day) where account_id = ${accountId}) as recommended_xss
     from training.training_info where account_id = ${accountId} order by observed_at desc limit 1`
  return row
}

/**
 * The form at this moment, derived from the last activity, see the view form_today. If the form is unknown, the numbers are null and
 * `reason` says why.
 */
type FormToday = Record<'form' | 'training_load' | 'recovery_load', number | null> & { reason: string | null }

/** Finds an account's current form; undefined if no activity has a load. */
export async function findFormToday(tx: Tx, accountId: number): Promise<FormToday | undefined> {
  const [row] = await rowsOf<FormToday>(tx)`
     select form, tl_total as training_load, rl_total as recovery_load,
       case reason when 'not fitted yet' then 'it is computed once the activities are fetched' else reason end as reason
     from training.form_today where account_id = ${accountId}`
  return row
}

/** Finds an account's seasons (calendar years with a power curve), newest first. */
export async function findSeasons(tx: Tx, accountId: number): Promise<number[]> {
  const rows = await rowsOf<{ season: number }>(tx)`
     select distinct season from training.power_bests where account_id = ${accountId} and span = 'season' order by season desc`
  return rows.map(({ season }) => season)
}
