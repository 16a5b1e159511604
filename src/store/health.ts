import type { Tx } from './store.ts'

/** How one account's login and polls stand. */
export type AccountHealth = {
  account: string
  needs_login: boolean
  /** when the list was last polled to its end, by the database's clock */
  polled_at: Date | null
  /** of the access token; null when nobody has signed in */
  token_obtained_at: Date | null
  token_expires_at: Date | null
  refresh_failures: number | null
}

/**
 * Finds how every account stands, oldest first. Light: it reads a few rows of an index an account, and counts nothing,
 * so a health check may ask for it every few seconds.
 */
export async function findAccountHealth(tx: Tx): Promise<AccountHealth[]> {
  const { rows } = await tx.client.query<AccountHealth>(`
    select a.name as account, a.needs_login, p.polled_at, c.obtained_at as token_obtained_at,
           c.expires_at as token_expires_at, c.failures as refresh_failures
    from training.accounts a
    left join musette.credentials c using (account_id)
    left join lateral (
      select finished_at as polled_at from training.sync_runs
      where account_id = a.account_id and resource = 'activities' and kind in ('poll', 'backfill')
        and outcome in ('done', 'partial')
      order by started_at desc limit 1
    ) p on true
    order by a.account_id`)
  return rows
}
