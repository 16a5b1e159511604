import type { Logger } from 'pino'
import { TransientError } from '../../kit/errors.ts'
import type { Store, Tx } from '../store.ts'
import {
  findSealed,
  lockCredentials,
  openFields,
  openSealed,
  recordUnreadable,
  reseal,
  type SealedCredentials,
  upsertSealed,
} from './rows.ts'
import type { Keyring, Sealer } from './seal.ts'
import type { Spool } from './spool.ts'
import type { Credentials } from './types.ts'
import { UnreadableLoginError } from './unreadable-login-error.ts'

/** What the parts of the vault share. */
export type VaultParts = Readonly<{ store: Store; log: Logger; keys: Keyring; spool: Spool }>

// Nothing is known of these while the database is away.
const UNKNOWN_STATE = { needsLogin: false, failures: 0, notBefore: null }

/**
 * Reads an account's credentials. Tokens in a spool file that are newer than the row's are put in place first; while
 * the database is away they are served from the file, and without a file its TransientError is thrown. An account that was
 * parked because its tokens could not be read is parked no more when they can.
 */
export async function readCredentials(
  parts: VaultParts,
  accountId: number,
): Promise<Credentials | undefined> {
  const spooled = await parts.spool.read(accountId)
  try {
    if (spooled) await restoreAndRemoveSpool(parts, spooled)
    const found = await parts.store.read((tx) => findCredentials(tx, parts.keys, accountId))
    if (!found?.unreadable) return found?.credentials
    return await parts.store.transaction(async (tx) => {
      await lockCredentials(tx, accountId)
      return await findCredentialsAndUnpark(tx, parts, accountId)
    })
  } catch (error) {
    if (!spooled || !(error instanceof TransientError)) throw error
    const sealer = parts.keys.sealerOf(spooled)
    // Without the account's row only the tokens themselves can tell where they may be sent.
    const { origin } = openSpooled(sealer, spooled)
    if (origin === undefined) throw error
    return openSealed(sealer, spooled, { ...UNKNOWN_STATE, baseUrl: origin })
  }
}

/**
 * Finds the credentials of an account whose row is locked, opened; one that was parked because they could not be read is
 * parked no more. Throws UnreadableLoginError.
 */
export async function findCredentialsAndUnpark(
  tx: Tx,
  { keys, log }: Pick<VaultParts, 'keys' | 'log'>,
  accountId: number,
): Promise<Credentials | undefined> {
  const found = await findCredentials(tx, keys, accountId)
  if (!found?.unreadable) return found?.credentials
  await recordUnreadable(tx, accountId, null)
  log.info({ accountId }, 'the tokens of an account can be read again')
  return { ...found.credentials, needsLogin: false }
}

/** Whether the tokens of an account whose row is locked can be read; spooled ones that can are put in place. */
export async function isReadable(tx: Tx, parts: VaultParts, accountId: number): Promise<boolean> {
  try {
    const spooled = await parts.spool.read(accountId)
    if (spooled) await restoreSpooledTokens(tx, parts.keys, spooled)
    await findCredentials(tx, parts.keys, accountId)
    return true
  } catch (error) {
    if (error instanceof UnreadableLoginError) return false
    throw error
  }
}

async function findCredentials(
  tx: Tx,
  keys: Keyring,
  accountId: number,
): Promise<{ credentials: Credentials; unreadable: boolean } | undefined> {
  const row = await findSealed(tx, accountId)
  if (!row) return undefined
  const { sealed, needsLogin, baseUrl, unreadable } = row
  const credentials = openSealed(keys.sealerOf(sealed), sealed, { ...sealed, needsLogin, baseUrl })
  return { credentials, unreadable }
}

/**
 * Puts spooled tokens in place when they are newer than the locked row's, sealed with the row's key. Tokens that cannot be
 * opened are left alone (UnreadableLoginError). Those of an account that was signed out are not brought back, nor those of
 * another service than the account is at now.
 */
export async function restoreSpooledTokens(
  tx: Tx,
  keys: Keyring,
  spooled: SealedCredentials,
): Promise<boolean> {
  const row = await findSealed(tx, spooled.accountId)
  if (!row || row.sealed.obtainedAt >= spooled.obtainedAt) return false
  const sealers = { from: keys.sealerOf(spooled), to: keys.sealerOf(row.sealed) }
  const { origin } = new URL(row.baseUrl)
  if ((openSpooled(sealers.from, spooled).origin ?? origin) !== origin) return false
  await upsertSealed(tx, reseal(sealers, spooled, origin))
  return true
}

/** Opens what a spool file holds; bytes that its key does not open are a damaged file. */
export function openSpooled(sealer: Sealer, spooled: SealedCredentials) {
  try {
    return openFields(sealer, spooled)
  } catch (error) {
    if (!(error instanceof UnreadableLoginError) || error.code !== 'login_damaged') throw error
    throw new UnreadableLoginError('spool_damaged', spooled)
  }
}

async function restoreAndRemoveSpool(parts: VaultParts, spooled: SealedCredentials): Promise<void> {
  const { accountId } = spooled
  const taken = await parts.store.transaction(async (tx) => {
    await lockCredentials(tx, accountId)
    return await restoreSpooledTokens(tx, parts.keys, spooled)
  })
  if (taken) parts.log.warn({ accountId }, 'put spooled tokens in place')
  await parts.spool.remove(accountId, spooled.obtainedAt)
}
