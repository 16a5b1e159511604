import { eq, sql } from 'drizzle-orm'
import { cleanText } from '../clean.ts'
import { accounts, credentials } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import { keyMismatch, type Sealer } from './seal.ts'
import type { Credentials, Login, TokenPair } from './types.ts'

/** What stands sealed in the table and in a spool file. */
export type SealedCredentials = Readonly<
  Omit<typeof credentials.$inferSelect, 'updatedAt' | 'failures' | 'notBefore'>
>

/** Locks the credentials row of an account until the transaction ends. */
export async function lockCredentials(tx: Tx, accountId: number): Promise<void> {
  await tx.db
    .select({ one: sql`1` })
    .from(credentials)
    .where(eq(credentials.accountId, accountId))
    .for('update')
}

/** Finds the sealed credentials of an account, with what its row in `accounts` says of them. */
export async function findSealed(tx: Tx, accountId: number) {
  const [row] = await tx.db
    .select({ sealed: credentials, needsLogin: accounts.needsLogin })
    .from(credentials)
    .innerJoin(accounts, eq(accounts.accountId, credentials.accountId))
    .where(eq(credentials.accountId, accountId))
  return row
}

/** Finds the ids of the keys that seal the rows of all accounts. */
export async function findKeyIds(tx: Tx): Promise<Set<string>> {
  const rows = await tx.db.selectDistinct({ keyId: credentials.keyId }).from(credentials)
  return new Set(rows.map(({ keyId }) => keyId))
}

/** Writes sealed credentials whole, and marks the account as signed in. */
export async function upsertSealed(tx: Tx, sealed: SealedCredentials): Promise<void> {
  const { accountId, ...columns } = sealed
  const fresh = { ...columns, failures: 0, notBefore: null, updatedAt: sql`clock_timestamp()` }
  await tx.db
    .insert(credentials)
    .values({ accountId, ...fresh })
    .onConflictDoUpdate({ target: credentials.accountId, set: fresh })
  await recordNeedsLogin(tx, accountId, null)
}

/** Sets or, with a null reason, clears an account's need of a login. */
export async function recordNeedsLogin(tx: Tx, accountId: number, reason: string | null): Promise<void> {
  const set = { needsLogin: reason !== null, lastError: reason === null ? null : cleanText(reason) }
  await tx.db.update(accounts).set(set).where(eq(accounts.accountId, accountId))
}

/** Counts a failed refresh. */
export async function recordRefreshFailure(
  tx: Tx,
  accountId: number,
  input: { notBefore: Date; reason: string },
): Promise<void> {
  await tx.db
    .update(credentials)
    .set({
      failures: sql`${credentials.failures} + 1`,
      notBefore: input.notBefore,
      updatedAt: sql`clock_timestamp()`,
    })
    .where(eq(credentials.accountId, accountId))
  await tx.db
    .update(accounts)
    .set({ lastError: cleanText(input.reason) })
    .where(eq(accounts.accountId, accountId))
}

/** Seals a login for the table and the spool. */
export function sealLogin(sealer: Sealer, accountId: number, login: Login): SealedCredentials {
  const { password, username, clientId, clientSecret } = login
  return {
    accountId,
    clientId,
    clientSecret: sealer.seal(clientSecret, { accountId, field: 'client_secret' }),
    username: username ?? null,
    password: password === undefined ? null : sealer.seal(password, { accountId, field: 'password' }),
    ...sealPair(sealer, accountId, login.pair),
  }
}

/** Seals a pair of tokens. */
export function sealPair(sealer: Sealer, accountId: number, pair: TokenPair) {
  return {
    accessToken: sealer.seal(pair.accessToken, { accountId, field: 'access_token' }),
    refreshToken: sealer.seal(pair.refreshToken, { accountId, field: 'refresh_token' }),
    obtainedAt: pair.obtainedAt,
    expiresAt: pair.expiresAt,
    keyId: sealer.keyId,
  }
}

/** Seals credentials with another key; throws ConfigError `secret_key_mismatch` unless `from` sealed them. */
export function reseal(sealers: { from: Sealer; to: Sealer }, sealed: SealedCredentials): SealedCredentials {
  const { from, to } = sealers
  const { accountId } = sealed
  const move = (value: Buffer, field: string) =>
    to.seal(from.open(value, { accountId, field }), { accountId, field })
  return {
    ...sealed,
    clientSecret: move(sealed.clientSecret, 'client_secret'),
    accessToken: move(sealed.accessToken, 'access_token'),
    refreshToken: move(sealed.refreshToken, 'refresh_token'),
    password: sealed.password === null ? null : move(sealed.password, 'password'),
    keyId: to.keyId,
  }
}

/** Opens sealed credentials; throws ConfigError `secret_key_mismatch` when another key sealed them. */
export function openSealed(
  sealer: Sealer,
  sealed: SealedCredentials,
  state: { needsLogin: boolean; failures: number; notBefore: Date | null },
): Credentials {
  const { accountId } = sealed
  if (sealed.keyId !== sealer.keyId) throw keyMismatch(accountId)
  const open = (value: Buffer, field: string) => sealer.open(value, { accountId, field })
  return {
    clientId: sealed.clientId,
    clientSecret: open(sealed.clientSecret, 'client_secret'),
    accessToken: open(sealed.accessToken, 'access_token'),
    refreshToken: open(sealed.refreshToken, 'refresh_token'),
    username: sealed.username ?? undefined,
    password: sealed.password === null ? undefined : open(sealed.password, 'password'),
    obtainedAt: sealed.obtainedAt,
    expiresAt: sealed.expiresAt,
    needsLogin: state.needsLogin,
    failures: state.failures,
    notBefore: state.notBefore ?? undefined,
  }
}
