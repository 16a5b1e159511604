import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { asc, eq, sql } from 'drizzle-orm'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { Logger } from 'pino'
import { z } from 'zod'
import { TransientError } from '../../kit/errors.ts'
import { orMissing, orNone, writeDurably } from '../../kit/files.ts'
import { parseIfJson } from '../../kit/json.ts'
import { SECOND } from '../../kit/time.ts'
import type { Credentials } from '../service/credentials.ts'
import { cleanText } from '../store/clean.ts'
import { accounts, credentials, riders } from '../store/schema/index.ts'
import type { Store, Tx } from '../store/store.ts'
import {
  type Keyring,
  orUnreadable,
  reseal,
  type SealedCredentials,
  type Sealer,
  spoolName,
  UnreadableLoginError,
  unsealCredentials,
  unsealFields,
} from './seal.ts'

export type VaultParts = Readonly<{ store: Store; log: Logger; keys: Keyring; spool: Spool }>

// Replaces the state of the row while the database is unreachable.
const UNKNOWN_STATE = {
  ...{ needsLogin: false, failures: 0, notBefore: null, refusals: 0, refusedSince: null },
  isRiderCompared: false,
}

/**
 * Reads an account's credentials. Writes newer tokens of a spool file to the table first. If the database is unreachable, returns the
 * tokens of the spool file, or throws the TransientError if there is none. Unparks an account parked for unreadable tokens if they can be
 * read again.
 */
export async function readCredentials(parts: VaultParts, accountId: number) {
  const spooled = await parts.spool.read(accountId)
  try {
    if (spooled) {
      const restored = await parts.store.transaction(async (tx) => {
        await lockCredentials(tx, accountId)
        return await restoreSpooledTokens(tx, parts.keys, spooled)
      })
      if (restored) parts.log.warn({ accountId }, 'put spooled tokens in place')
      await parts.spool.remove(accountId, spooled.obtainedAt)
    }
    const found = await parts.store.read((tx) => findCredentials(tx, parts.keys, accountId))
    if (!found?.unreadable) return found?.credentials
    return await parts.store.transaction(async (tx) => {
      await lockCredentials(tx, accountId)
      return await findCredentialsAndUnpark(tx, parts, accountId)
    })
  } catch (error) {
    if (!spooled || !(error instanceof TransientError)) throw error
    const sealer = parts.keys.sealerOf(spooled)
    // Without the account's row, only the tokens say to which origin they may be sent.
    const { origin } = unsealSpooled(sealer, spooled)
    return unsealCredentials(sealer, spooled, { ...UNKNOWN_STATE, baseUrl: origin })
  }
}

/** Finds and decrypts the credentials of a locked row, and unparks an account parked for unreadable tokens. Throws UnreadableLoginError. */
export async function findCredentialsAndUnpark(
  tx: Tx,
  { keys, log }: Pick<VaultParts, 'keys' | 'log'>,
  accountId: number,
): Promise<Credentials | undefined> {
  const found = await findCredentials(tx, keys, accountId)
  if (!found?.unreadable) return found?.credentials
  await recordLogin(tx, accountId, { unreadable: false, needsLogin: false, reason: null })
  log.info({ accountId }, 'the tokens of an account can be read again')
  return { ...found.credentials, needsLogin: false }
}

/** Reports whether the tokens of a locked row can be read. Writes newer readable tokens of the spool to the table. */
export async function isReadable(tx: Tx, parts: VaultParts, accountId: number): Promise<boolean> {
  const found = await orUnreadable(async () => {
    const spooled = await parts.spool.read(accountId)
    if (spooled) await restoreSpooledTokens(tx, parts.keys, spooled)
    return findCredentials(tx, parts.keys, accountId)
  })
  return !(found instanceof UnreadableLoginError)
}

async function findCredentials(tx: Tx, keys: Keyring, accountId: number) {
  const row = await findSealed(tx, accountId)
  return row && { credentials: unsealRow(keys, row), unreadable: row.unreadable }
}

/** Decrypts the sealed credentials of a row. Throws UnreadableLoginError. */
export function unsealRow(keys: Keyring, row: SealedRow): Credentials {
  const { sealed, ...state } = row
  return unsealCredentials(keys.sealerOf(sealed), sealed, { ...sealed, ...state })
}

/**
 * Decrypts the logins of all accounts or of one account, with one query. Returns how many are readable, and the accounts that readCredentials
 * must check: accounts with a spool file, with a login marked as unreadable, or with a login that cannot be decrypted.
 */
export async function findDoubtfulLogins({ store, keys, spool }: VaultParts, accountId?: number) {
  const rows = await store.read((tx) => findEverySealed(tx, accountId))
  const spooled = await spool.list().catch(() => rows.map(({ sealed }) => sealed.accountId))
  const doubtful = new Set(spooled)
  for (const row of rows) {
    const opened = await orUnreadable(() => unsealRow(keys, row))
    if (row.unreadable || opened instanceof UnreadableLoginError) doubtful.add(row.sealed.accountId)
  }
  const readable = rows.filter(({ sealed }) => !doubtful.has(sealed.accountId)).length
  return { readable, doubtful: [...doubtful].sort((a, b) => a - b) }
}

/**
 * Writes spooled tokens to the table, encrypted with the row's key, and returns true. Returns false if they are not newer than those of the
 * locked row, the account signed out, or they are for another service. Throws UnreadableLoginError if they cannot be decrypted.
 */
export async function restoreSpooledTokens(tx: Tx, keys: Keyring, spooled: SealedCredentials) {
  const row = await findSealed(tx, spooled.accountId)
  if (!row || row.sealed.obtainedAt >= spooled.obtainedAt) return false
  const sealers = { from: keys.sealerOf(spooled), to: keys.sealerOf(row.sealed) }
  if (unsealSpooled(sealers.from, spooled).origin !== new URL(row.baseUrl).origin) return false
  await upsertSealed(tx, reseal(sealers, spooled))
  return true
}

/** Decrypts the tokens of a spool file. Throws UnreadableLoginError `spool_damaged` if their key does not decrypt them. */
export function unsealSpooled(sealer: Sealer, spooled: SealedCredentials) {
  try {
    return unsealFields(sealer, spooled)
  } catch (error) {
    if (!(error instanceof UnreadableLoginError)) throw error
    throw new UnreadableLoginError('spool_damaged', spooled)
  }
}

/** One file for each account: its newest tokens, sealed, until the database has them. */
type Spool = ReturnType<typeof makeSpool>

const sealedBytes = z.base64().transform((text) => Buffer.from(text, 'base64'))
const moment = z.iso.datetime().transform((text) => new Date(text))

const spoolFile = z
  .object({
    accountId: z.int(),
    clientId: z.string(),
    clientSecret: sealedBytes,
    accessToken: sealedBytes,
    refreshToken: sealedBytes,
    username: z.string().nullable(),
    password: sealedBytes.nullable(),
    keyId: z.string(),
    obtainedAt: moment,
    expiresAt: moment.nullable().catch(null),
  })
  // Tokens with an unreadable expiry, or one after the year 9999, count as expired and are refreshed.
  .transform((file) => ({ ...file, expiresAt: file.expiresAt ?? file.obtainedAt }))

/**
 * Makes the spool of the database with this identity in `directory`, which the first write creates with mode 0700; files have mode 0600.
 * Throws UnreadableLoginError `spool_unreadable` if the disk fails, and `spool_damaged` for invalid content.
 */
export function makeSpool(directory: string, identity: string) {
  const pathOf = (accountId: number) => join(directory, spoolName(accountId, identity))
  const read = async (accountId: number): Promise<SealedCredentials | undefined> => {
    const text = await onDisk(accountId, () => readFile(pathOf(accountId), 'utf8').catch(orMissing))
    if (text === undefined) return undefined
    const parsed = spoolFile.safeParse(parseIfJson(text))
    if (parsed.success && parsed.data.accountId === accountId) return parsed.data
    throw new UnreadableLoginError('spool_damaged', { accountId })
  }
  const clear = (accountId: number) => rm(pathOf(accountId), { force: true, recursive: true })
  return {
    read,
    /** Writes the complete file; it is on the disk when this resolves. */
    async write(sealed: SealedCredentials): Promise<void> {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await writeDurably(pathOf(sealed.accountId), toText(sealed))
    },
    async list(): Promise<number[]> {
      const names = await readdir(directory).catch(orNone)
      return names.flatMap((name) => {
        const accountId = Number(/^tokens-(\d+)\b/.exec(name)?.[1])
        return name === spoolName(accountId, identity) ? [accountId] : []
      })
    },
    /** Removes the file, whatever it contains. */
    clear: (accountId: number) => onDisk(accountId, () => clear(accountId)),
    /** Removes the file unless it holds tokens newer than `obtainedAt`. */
    async remove(accountId: number, obtainedAt: Date): Promise<void> {
      const found = await read(accountId)
      if (found && found.obtainedAt <= obtainedAt) await clear(accountId)
    },
  }
}

async function onDisk<T>(accountId: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new UnreadableLoginError('spool_unreadable', { accountId }, { cause })
  }
}

function toText(sealed: SealedCredentials): string {
  const texts = Object.entries(sealed).map(([name, value]) => [
    name,
    Buffer.isBuffer(value) ? value.toString('base64') : value,
  ])
  return JSON.stringify(Object.fromEntries(texts))
}

// A refresh makes two requests of at most 40 s each. A process that holds the lock longer hangs.
const LOCK_TIMEOUT_MS = 90 * SECOND

/** Runs work in a transaction that waits at most 90 s for each lock. */
export function lockingTransaction<T>(store: Store, work: (tx: Tx) => Promise<T>): Promise<T> {
  return store.transaction(async (tx) => {
    await tx.client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`)
    return await work(tx)
  })
}

/** Locks the credentials row of an account until the transaction ends. Must run before the account's own row is changed. */
export async function lockCredentials(tx: Tx, accountId: number): Promise<void> {
  await tx.client.query('select from musette.credentials where account_id = $1 for update', [accountId])
}

/** Finds an account's sealed credentials, with the state of its login from `accounts`. */
export async function findSealed(tx: Tx, accountId: number) {
  const [row] = await selectSealed(tx).where(eq(credentials.accountId, accountId))
  return row
}

export type SealedRow = NonNullable<Awaited<ReturnType<typeof findSealed>>>

/** Finds the sealed credentials of all accounts or of one account, oldest account first. */
export async function findEverySealed(tx: Tx, accountId?: number): Promise<SealedRow[]> {
  const rule = accountId === undefined ? undefined : eq(credentials.accountId, accountId)
  return await selectSealed(tx).where(rule).orderBy(asc(credentials.accountId))
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

export async function findKeyIds(tx: Tx): Promise<Set<string>> {
  const rows = await tx.db.selectDistinct({ keyId: credentials.keyId }).from(credentials)
  return new Set(rows.map(({ keyId }) => keyId))
}

/** A new pair clears `refusedSince` if the service refused a refresh, but not if it refuses new tokens. */
const STILL_REFUSED = sql`case when ${credentials.refusals} > 0 then ${credentials.refusedSince} end`

/** Writes complete sealed credentials. Marks the account as signed in, unless the service refuses its tokens. */
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
    .onConflictDoUpdate({
      target: credentials.accountId,
      set: { ...fresh, refusedSince: STILL_REFUSED, ...counts },
    })
    .returning({ refusals: credentials.refusals })
  if (!row?.refusals) await recordNeedsLogin(tx, accountId, null)
}

/** Sets columns of the locked credentials, and the account's `needsLogin` and reason, which people read. */
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

/** Marks an account as needing a login, or clears that mark if the reason is null. */
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
