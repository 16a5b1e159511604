import { normalizeZones } from '../normalize/local-start.ts'
import {
  type Account,
  findAccountById,
  recordHomeOfAccount,
  recordHomeOfEnvironment,
} from '../store/account-rows.ts'
import { findZoneFacts, recordZones } from '../store/activities/zone-rows.ts'
import { findChangedAccounts } from '../store/feed/change-rows.ts'
import type { MirrorDeps } from './mirror.ts'

/** Number of activities per transaction, so that no transaction holds many row locks for long. */
const BATCH = 500

type Deps = Pick<MirrorDeps, 'store' | 'log'>

/**
 * Finds the time zones of an account's activities from stored data, and records changed zones with their local times; the instants stay.
 * Leaves an activity that another process rewrites meanwhile to the next call. With `everyPlace`, looks up zones again that came from a
 * position. Returns how many rows changed.
 */
export async function updateTimeZones(
  { store, log }: Deps,
  { accountId, everyPlace = false }: Pick<Account, 'accountId'> & { everyPlace?: boolean },
): Promise<number> {
  const { account, facts } = await store.read(async (tx) => ({
    account: await findAccountById(tx, accountId),
    facts: await findZoneFacts(tx, accountId),
  }))
  if (!account) return 0
  const changes = normalizeZones(facts, { home: account.timezone, everyPlace })
  let changed = 0
  for (let start = 0; start < changes.length; start += BATCH)
    changed += await store.transaction((tx) => recordZones(tx, changes.slice(start, start + BATCH)))
  if (changed > 0)
    log.info({ account: account.name, activities: changed }, 'found the time zones of activities')
  return changed
}

/** Finds the time zones of some or all accounts' activities, like updateTimeZones. */
export async function updateAllTimeZones(
  deps: Deps,
  accounts?: readonly Pick<Account, 'accountId'>[],
): Promise<void> {
  for (const { accountId } of accounts ?? (await deps.store.read(findChangedAccounts)))
    await updateTimeZones(deps, { accountId })
}

/**
 * Sets a rider's home time zone (an IANA name), or clears it if null, and finds the activities' time zones again. Returns how many activities
 * changed. Throws ConfigError `bad_timezone` for a zone that the database does not know.
 */
export async function recordHome(
  deps: Deps,
  { accountId, timezone }: Pick<Account, 'accountId' | 'timezone'>,
): Promise<number> {
  await deps.store.transaction((tx) => recordHomeOfAccount(tx, { accountId, timezone }))
  return updateTimeZones(deps, { accountId })
}

/** Sets the home MUSETTE_TIMEZONE for each account without its own. Throws ConfigError `bad_timezone`. */
export async function recordHomeOfOthers(deps: Deps, timezone: string): Promise<void> {
  const accountIds = await deps.store.transaction((tx) => recordHomeOfEnvironment(tx, timezone))
  for (const accountId of accountIds) await updateTimeZones(deps, { accountId })
}
