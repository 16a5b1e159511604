import type { Tx } from '../../../core/store/store.ts'
import { commandFor } from '../../../kit/errors.ts'
import { MAX_ACCOUNTS } from '../shared/sent.ts'
import { rowsOf } from './rows-of.ts'

/** Finds the accounts to choose from on a page: the oldest accounts, and the shown account. */
export async function findAccountChoices(tx: Tx, shown = 0) {
  return rowsOf<{ account_id: number; account: string }>(tx)`
     select account_id, name as account from training.accounts
     where account_id = ${shown} or account_id in (select account_id from training.accounts order by 1 limit ${MAX_ACCOUNTS})
     order by account_id`
}

/**
 * Chooses the account of a page, by default the first account. Returns undefined if `accountId` does not exist; in the result, `shown` is
 * undefined if there is no account yet.
 */
export async function chooseAccount(tx: Tx, accountId?: number) {
  const accounts = await findAccountChoices(tx, accountId)
  const shown = accounts.find(({ account_id: id }) => id === (accountId ?? id))
  return accountId !== undefined && !shown ? undefined : { accounts, shown }
}

/** Chooses the account and sport of a page, by default the first account and its most frequent sport. Returns undefined if the account does not exist. */
export async function chooseSport(
  tx: Tx,
  input: { accountId?: number | undefined; sport?: string | undefined },
) {
  const choice = await chooseAccount(tx, input.accountId)
  if (!choice) return undefined
  const { accounts, shown } = choice
  const counts = await rowsOf<{ sport: string; all: number; to_fetch: number }>(tx)`
     select sport, count(*)::int as all, count(*) filter (where fetched_at is null)::int as to_fetch
     from training.activities where account_id = ${shown?.account_id ?? 0} and absent_since is null group by sport order by 2 desc, 1`
  const sum = (of: 'all' | 'to_fetch') => counts.reduce((total, count) => total + count[of], 0)
  return {
    accounts,
    /** the account of the page; null if there is no account yet */
    account_id: shown?.account_id ?? null,
    sync_command: commandFor('sync', shown?.account ?? 'default'),
    /** number of activities, and number of activities that are not fetched yet */
    count: { all: sum('all'), to_fetch: sum('to_fetch') },
    /** the account's sports, most frequent first */
    sports: counts.map((count) => count.sport),
    sport: input.sport ?? counts[0]?.sport ?? 'all',
  }
}
