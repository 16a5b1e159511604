import { LAST_RUN, POLLED_AT } from './runs.ts'
import type { Tx } from './store.ts'

/** The state of one account's login and polls. */
export type AccountHealth = {
  account: string
  needs_login: boolean
  created_at: Date
  /** when the list was last polled to its end, by the database's clock */
  polled_at: Date | null
  /** of the access token; null before the first login */
  token_obtained_at: Date | null
  token_expires_at: Date | null
  refresh_failures: number | null
  refresh_not_before: Date | null
  /** since when the service refuses the tokens that it makes */
  refused_since: Date | null
  /** whether its tokens belong to another rider than its activities */
  other_rider: boolean
  /** the newest run of the activity list, also one that has not ended */
  last_run: { outcome: string; error: string | null } | null
}

/**
 * Finds the state of every account's login and polls, oldest account first. It reads a few rows of an index per account and
 * counts nothing, so that a health check can run it every few seconds.
 */
export async function findAccountHealth(tx: Tx): Promise<AccountHealth[]> {
  const { rows } = await tx.client.query<AccountHealth>(`
    select a.name as account, a.needs_login, a.created_at, p.polled_at, c.obtained_at as token_obtained_at,
           c.expires_at as token_expires_at, c.failures as refresh_failures, c.not_before as refresh_not_before, c.refused_since,
           r.last_run, coalesce(o.is_other and o.pair = sha256(c.access_token), false) as other_rider
    from training.accounts a
    left join musette.credentials c using (account_id)
    left join musette.riders o using (account_id)
    left join lateral (${POLLED_AT}) p on true
    left join lateral (${LAST_RUN}) r on true
    order by a.account_id`)
  return rows
}
