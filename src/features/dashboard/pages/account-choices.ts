import type { Tx } from '../../../core/store/store.ts'
import { MAX_ACCOUNTS } from '../shared/sent.ts'
import { rowsOf } from './rows-of.ts'

/** Finds the accounts that a page lets a person choose: the oldest, and the shown one. */
export async function findAccountChoices(tx: Tx, shown = 0) {
  return rowsOf<{ account_id: number; account: string }>(tx)`
     select account_id, name as account from training.accounts
     where account_id = ${shown} or account_id in (select account_id from training.accounts order by 1 limit ${MAX_ACCOUNTS})
     order by account_id`
}
