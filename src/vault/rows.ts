import { asc, eq, sql } from 'drizzle-orm'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import { SECOND } from '../kit/time.ts'
import type { Credentials, Refusals, TokenPair } from '../service/credentials.ts'
import { cleanText } from '../store/clean.ts'
import { accounts, credentials, riders } from '../store/schema/index.ts'
import type { Store, Tx } from '../store/store.ts'
import { type Sealer, UnreadableLoginError } from './seal.ts'

/** Sealed credentials, as in the table and in a spool file. */
export type SealedCredentials = Readonly<
  Omit<
    typeof credentials.$inferSelect,
    'updatedAt' | 'failures' | 'notBefore' | 'unreadable' | keyof Refusals
  >
>

// A refresh takes two requests of 40 s at most; a longer holder of the lock hangs.
const LOCK_TIMEOUT_MS = 90 * SECOND

/** Runs work in a transaction that waits at most 90 s for each lock. */
export function lockingTransaction<T>(store: Store, work: (tx: Tx) => Promise<T>): Promise<T> {
  return store.transaction(async (tx) => {
    await tx.client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`)
    return await work(tx)
  })
}

/** Locks the credentials row of an account until the transaction ends. Must run before a change of the account's own row. */
export async function lockCredentials(tx: Tx, accountId: number): Promise<void> {
  await tx.db
    .select({ one: sql`1` })
    .from(credentials)
    .where(eq(credentials.accountId, accountId))
    .for('update')
}

/** Finds the sealed credentials of an account, with the state of the login in its row of `accounts`. */
export async function findSealed(tx: Tx, accountId: number) {
  const [row] = await selectSealed(tx).where(eq(credentials.accountId, accountId))
  return row
}

export type SealedRow = NonNullable<Awaited<ReturnType<typeof findSealed>>>

/** Finds all sealed credentials, those of the oldest account first. */
export async function findEverySealed(tx: Tx): Promise<SealedRow[]> {
  return await selectSealed(tx).orderBy(asc(credentials.accountId))
}

function selectSealed(tx: Tx) {
  return tx.db
    .select({
      accountId: accounts.accountId,
      name: accounts.name,
      sealed: credentials,
      isRiderCompared: sql<boolean>`coalesce(${riders.pair} = sha256(${credentials.accessToken}) and not ${riders.isOther}, false)`,
      isOther: riders.isOther,
      unreadable: credentials.unreadable,
      needsLogin: accounts.needsLogin,
      lastError: accounts.lastError,
      baseUrl: accounts.baseUrl,
    })
    .from(credentials)
    .innerJoin(accounts, eq(accounts.accountId, credentials.accountId))
    .leftJoin(riders, eq(riders.accountId, credentials.accountId))
}

/** Finds the ids of the keys that seal the rows of all accounts. */
export async function findKeyIds(tx: Tx): Promise<Set<string>> {
  const rows = await tx.db.selectDistinct({ keyId: credentials.keyId }).from(credentials)
  return new Set(rows.map(({ keyId }) => keyId))
}

/** Writes complete sealed credentials, and marks the account as signed in unless the service refuses its tokens. */
export async function upsertSealed(
  tx: Tx,
  sealed: SealedCredentials,
  counts: { failures?: number; refusals?: number; refusedSince?: null } = {},
): Promise<void> {
  const { accountId, ...columns } = sealed
  const fresh = {
    ...columns,
    failures: 0,
    ...counts,
    notBefore: null,
    unreadable: false,
    updatedAt: sql`clock_timestamp()`,
  }
  const [row] = await tx.db
    .insert(credentials)
    .values({ accountId, ...fresh })
    .onConflictDoUpdate({ target: credentials.accountId, set: fresh })
    .returning({ refusals: credentials.refusals })
  if (!row?.refusals) await recordNeedsLogin(tx, accountId, null)
}

/** Sets some columns of the locked credentials, and the account's columns for a person. */
export async function recordLogin(
  tx: Tx,
  accountId: number,
  input: PgUpdateSetSource<typeof credentials> & { needsLogin?: boolean; reason: string | null },
): Promise<void> {
  const { needsLogin, reason, ...columns } = input
  await tx.db
    .update(credentials)
    .set({ ...columns, updatedAt: sql`clock_timestamp()` })
    .where(eq(credentials.accountId, accountId))
  await recordReason(tx, accountId, { needsLogin, reason })
}

/** Sets or, with a null reason, clears an account's need of a login. */
export function recordNeedsLogin(tx: Tx, accountId: number, reason: string | null): Promise<void> {
  return recordReason(tx, accountId, { needsLogin: reason !== null, reason })
}

async function recordReason(
  tx: Tx,
  accountId: number,
  { needsLogin, reason }: { needsLogin: boolean | undefined; reason: string | null },
): Promise<void> {
  const lastError = reason === null ? null : cleanText(reason)
  await tx.db.update(accounts).set({ needsLogin, lastError }).where(eq(accounts.accountId, accountId))
}

/** The account and the origin for which the values of a login are sealed. */
type Owner = Readonly<{ accountId: number; origin: string }>

/** The result of a sign-in; the password only when the rider asked for it to be kept. */
export type Login = Pick<Credentials, 'clientId' | 'clientSecret'> & {
  pair: TokenPair
  username?: string | undefined
  password?: string | undefined
}

/** Seals a login for the table and the spool. */
export function sealLogin(sealer: Sealer, owner: Owner, login: Login): SealedCredentials {
  const { password, username, clientId, clientSecret, pair } = login
  return {
    accountId: owner.accountId,
    clientId,
    // Without the password the user name is not needed; a hash of it identifies the rider.
    username: password === undefined ? null : (username ?? null),
    ...sealSecrets(sealer, owner, { clientSecret, password, ...pair }),
    obtainedAt: pair.obtainedAt,
    expiresAt: pair.expiresAt,
  }
}

function sealSecrets(
  sealer: Sealer,
  owner: Owner,
  secrets: Pick<Credentials, 'clientSecret' | 'accessToken' | 'refreshToken' | 'password'>,
) {
  const seal = (text: string, field: string) => sealer.seal(text, { ...owner, field })
  return {
    clientSecret: seal(secrets.clientSecret, 'client_secret'),
    accessToken: seal(secrets.accessToken, 'access_token'),
    refreshToken: seal(secrets.refreshToken, 'refresh_token'),
    password: secrets.password === undefined ? null : seal(secrets.password, 'password'),
    keyId: sealer.keyId,
  }
}

/** Seals credentials with another key, or with another `pair`; they keep their origin. Throws UnreadableLoginError as unsealFields does. */
export function reseal(
  { from, to }: { from: Sealer; to: Sealer },
  sealed: SealedCredentials,
  pair?: TokenPair,
): SealedCredentials {
  const opened = unsealFields(from, sealed)
  const owner = { accountId: sealed.accountId, origin: opened.origin }
  const { obtainedAt, expiresAt } = pair ?? sealed
  return { ...sealed, ...sealSecrets(to, owner, { ...opened, ...pair }), obtainedAt, expiresAt }
}

type LoginState = Pick<typeof credentials.$inferSelect, 'failures' | 'notBefore' | keyof Refusals> &
  Pick<typeof accounts.$inferSelect, 'needsLogin' | 'baseUrl'> & { isRiderCompared: boolean }

/**
 * Opens sealed credentials. Throws UnreadableLoginError `secret_key_mismatch` when another key sealed them, `login_damaged`, or
 * `login_elsewhere` when they were sealed for another origin than the base URL's: they must not be sent there.
 */
export function unsealCredentials(sealer: Sealer, sealed: SealedCredentials, state: LoginState): Credentials {
  const opened = unsealFields(sealer, sealed)
  if (opened.origin !== new URL(state.baseUrl).origin)
    throw new UnreadableLoginError('login_elsewhere', sealed)
  return {
    ...opened,
    clientId: sealed.clientId,
    username: sealed.username ?? undefined,
    obtainedAt: sealed.obtainedAt,
    expiresAt: sealed.expiresAt,
    needsLogin: state.needsLogin,
    failures: state.failures,
    notBefore: state.notBefore ?? undefined,
    isRiderCompared: state.isRiderCompared,
    refusals: state.refusals,
    refusedSince: state.refusedSince ?? undefined,
  }
}

/** Opens the sealed fields and returns them with their common origin. */
export function unsealFields(sealer: Sealer, sealed: SealedCredentials) {
  const { accountId } = sealed
  if (sealed.keyId !== sealer.keyId) throw new UnreadableLoginError('secret_key_mismatch', { accountId })
  const origins = new Set<string>()
  const open = (value: Buffer, field: string) => {
    const { text, origin } = sealer.open(value, { accountId, field })
    origins.add(origin)
    return text
  }
  const fields = {
    clientSecret: open(sealed.clientSecret, 'client_secret'),
    accessToken: open(sealed.accessToken, 'access_token'),
    refreshToken: open(sealed.refreshToken, 'refresh_token'),
    password: sealed.password === null ? undefined : open(sealed.password, 'password'),
  }
  const [origin = '', ...others] = origins
  if (others.length > 0) throw new UnreadableLoginError('login_elsewhere', { accountId })
  return { ...fields, origin }
}
