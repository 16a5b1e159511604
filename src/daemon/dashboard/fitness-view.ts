import type { App } from '../../app/app.ts'
import { commandFor } from '../../kit/errors.ts'
import { findAccounts } from '../../store/account-rows.ts'
import {
  findBests,
  findFitnessNow,
  findLoadColumns,
  findSeasons,
  findSignatureColumns,
  findWeekColumns,
} from '../../store/dashboard/fitness-page.ts'
import type { FitnessView } from '../../web/dashboard/dashboard-types.ts'

/** Finds the content of the fitness page, of the first account when none is named; undefined when there is no such account. */
export async function findFitness(
  { store }: Pick<App, 'store'>,
  input: { accountId?: number | undefined; season?: number | undefined },
): Promise<FitnessView | undefined> {
  return await store.read(async (tx) => {
    const accounts = await findAccounts(tx)
    const shown =
      input.accountId === undefined
        ? accounts[0]
        : accounts.find(({ accountId }) => accountId === input.accountId)
    if (input.accountId !== undefined && !shown) return undefined
    const key = shown?.accountId ?? 0
    const seasons = await findSeasons(tx, key)
    const season = input.season ?? seasons[0] ?? null
    return {
      accounts: accounts.map((account) => ({ account_id: account.accountId, account: account.name })),
      account_id: shown?.accountId ?? null,
      sync_command: commandFor('sync', shown?.name ?? 'default'),
      now: (await findFitnessNow(tx, key)) ?? null,
      signature: await findSignatureColumns(tx, key),
      load: await findLoadColumns(tx, key),
      weeks: await findWeekColumns(tx, key),
      seasons,
      season,
      best: await findBests(tx, { accountId: key, season }),
    }
  })
}
