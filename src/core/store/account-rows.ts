import { asc, eq, lt, sql } from 'drizzle-orm'
import { ConfigError } from '../../kit/errors.ts'
import { clockOf } from '../../kit/time.ts'
import { cleanText } from './clean.ts'
import { accounts, credentials, endedSessions, syncCursors } from './schema/index.ts'
import type { Tx } from './store.ts'

export type Account = Readonly<typeof accounts.$inferSelect>

/**
 * Creates an account, or updates the base URL of the account with this name. A new account needs a login. If the base URL changes, deletes
 * the account's cursors, because they belong to the old service.
 */
export async function upsertAccount(tx: Tx, input: { name: string; baseUrl: string }): Promise<Account> {
  const known = await findAccount(tx, input.name)
  if (known && known.baseUrl !== input.baseUrl) await forgetCursors(tx, known.accountId)
  const [row] = await tx.db
    .insert(accounts)
    .values({ name: cleanText(input.name), baseUrl: input.baseUrl })
    .onConflictDoUpdate({ target: accounts.name, set: { baseUrl: input.baseUrl } })
    .returning()
  if (!row) throw new Error('an upsert returns its row')
  return row
}

/** Deletes an account's cursors, so that the next poll lists everything. */
export async function forgetCursors(tx: Tx, accountId: number): Promise<void> {
  await tx.db.delete(syncCursors).where(eq(syncCursors.accountId, accountId))
}

/** Finds an account by name. Returns undefined if there is none. */
export async function findAccount(tx: Tx, name: string): Promise<Account | undefined> {
  const [row] = await tx.db
    .select()
    .from(accounts)
    .where(eq(accounts.name, cleanText(name)))
  return row
}

/** Returns an SQL condition that selects the rows of one account, or `true` without `accountId`. */
export const ofAccount = (accountId?: number, column = 'account_id') =>
  accountId === undefined ? 'true' : `${column} = ${accountId}`

/** Finds an account by id. Returns undefined if there is none. */
export async function findAccountById(tx: Tx, accountId: number): Promise<Account | undefined> {
  const [row] = await tx.db.select().from(accounts).where(eq(accounts.accountId, accountId))
  return row
}

/** Sets an account's home time zone (an IANA name), or clears it if `timezone` is null. Throws ConfigError `bad_timezone`. */
export async function recordHomeOfAccount(
  tx: Tx,
  { accountId, timezone: zone }: { accountId: number; timezone: string | null },
): Promise<void> {
  const timezone = zone === null ? null : await findZone(tx, zone)
  const timezoneSetBy = zone === null ? null : 'account'
  await tx.db.update(accounts).set({ timezone, timezoneSetBy }).where(eq(accounts.accountId, accountId))
}

/** Resting and maximum heart rate of an account's rider, bpm; null if not set. */
export type HeartRates = Pick<Account, 'restingHr' | 'maxHr'>

export async function recordHeartRates(
  tx: Tx,
  { accountId, restingHr, maxHr }: HeartRates & { accountId: number },
): Promise<void> {
  await tx.db.update(accounts).set({ restingHr, maxHr }).where(eq(accounts.accountId, accountId))
}

/** Sets the environment's home time zone on accounts without their own; returns the ids of the changed accounts. Throws ConfigError `bad_timezone`. */
export async function recordHomeOfEnvironment(tx: Tx, zone: string): Promise<number[]> {
  const timezone = await findZone(tx, zone)
  const isOthers = sql`${accounts.timezoneSetBy} IS DISTINCT FROM 'account' AND ${accounts.timezone} IS DISTINCT FROM ${timezone}`
  const rows = await tx.db
    .update(accounts)
    .set({ timezone, timezoneSetBy: 'environment' })
    .where(isOthers)
    .returning({ accountId: accounts.accountId })
  return rows.map(({ accountId }) => accountId)
}

/** Returns the name by which Postgres knows a time zone, or the name of a zone with the same clock, such as Asia/Kolkata for Asia/Calcutta. */
async function findZone(tx: Tx, timezone: string): Promise<string> {
  const { rows } = await tx.client.query<{ name: string }>(
    'SELECT name FROM pg_timezone_names ORDER BY lower(name) <> lower($1), name',
    [timezone],
  )
  const names = rows.map(({ name }) => name)
  if (names[0]?.toLowerCase() === timezone.toLowerCase()) return names[0]
  const clock = clockOf(timezone)
  const found = clock && names.find((name) => clockOf(name) === clock)
  if (found) return found
  throw new ConfigError(
    'bad_timezone',
    `Postgres does not know the time zone "${timezone}"; use an IANA name such as Europe/Berlin`,
  )
}

export async function findAccounts(tx: Tx): Promise<Account[]> {
  return await tx.db.select().from(accounts).orderBy(asc(accounts.accountId))
}

/** Returns for each account id when a login or refresh last issued the account's tokens, in ms since 1970. The value is null if the account needs a login. */
export async function findLoginTimes(tx: Tx): Promise<Map<number, number | null>> {
  const rows = await tx.db
    .select({
      accountId: accounts.accountId,
      needsLogin: accounts.needsLogin,
      obtainedAt: credentials.obtainedAt,
    })
    .from(accounts)
    .leftJoin(credentials, eq(credentials.accountId, accounts.accountId))
    .orderBy(asc(accounts.accountId))
  return new Map(
    rows.map((row) => [row.accountId, row.needsLogin ? null : (row.obtainedAt?.getTime() ?? null)]),
  )
}

/** Records that a browser session signed out, and deletes the records of expired sessions. */
export async function recordEndedSession(tx: Tx, session: { id: string; endsAt: Date }): Promise<void> {
  await tx.db.delete(endedSessions).where(lt(endedSessions.endsAt, sql`clock_timestamp()`))
  await tx.db.insert(endedSessions).values(session).onConflictDoNothing()
}

/** Finds the ids of the sessions that signed out before they expired. */
export async function findEndedSessions(tx: Tx): Promise<ReadonlySet<string>> {
  const rows = await tx.db.select({ id: endedSessions.id }).from(endedSessions)
  return new Set(rows.map(({ id }) => id))
}
