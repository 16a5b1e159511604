import type { Logger } from 'pino'
import { TransientError } from '../../kit/errors.ts'
import type { Store, Tx } from '../store.ts'
import type { Keyring } from './keyring.ts'
import {
  findSealed,
  lockCredentials,
  openFields,
  openSealed,
  reseal,
  type SealedCredentials,
  upsertSealed,
} from './rows.ts'
import type { Spool } from './spool.ts'
import type { Credentials } from './types.ts'

/** What the parts of the vault share. */
export type VaultParts = Readonly<{ store: Store; log: Logger; keys: Keyring; spool: Spool }>

// Nothing is known of these while the database is away.
const UNKNOWN_STATE = { needsLogin: false, failures: 0, notBefore: null }

/**
 * Reads an account's credentials. Tokens in a spool file that are newer than the row's are put in place first; while
 * the database is away they are served from the file, and without a file its TransientError is thrown.
 */
export async function readCredentials(
  parts: VaultParts,
  accountId: number,
): Promise<Credentials | undefined> {
  const spooled = await parts.spool.read(accountId)
  try {
    if (spooled) await replaySpool(parts, spooled)
    return await parts.store.read((tx) => findCredentials(tx, parts.keys, accountId))
  } catch (error) {
    if (!spooled || !(error instanceof TransientError)) throw error
    const sealer = parts.keys.sealerOf(spooled)
    // Without the account's row only the tokens themselves can tell where they may be sent.
    const { origin } = openFields(sealer, spooled)
    if (origin === undefined) throw error
    return openSealed(sealer, spooled, { ...UNKNOWN_STATE, baseUrl: origin })
  }
}

/** Finds an account's credentials in the table, opened; throws ConfigError `secret_key_mismatch`. */
export async function findCredentials(
  tx: Tx,
  keys: Keyring,
  accountId: number,
): Promise<Credentials | undefined> {
  const row = await findSealed(tx, accountId)
  if (!row) return undefined
  const { sealed, needsLogin, baseUrl } = row
  return openSealed(keys.sealerOf(sealed), sealed, { ...sealed, needsLogin, baseUrl })
}

/**
 * Puts spooled tokens in place when they are newer than the locked row's, sealed with the row's key. Tokens sealed with a
 * key that is not at hand are left alone (ConfigError). Those of an account that was signed out are not brought back, nor those
 * of another service than the account is at now.
 */
export async function takeOverSpool(tx: Tx, keys: Keyring, spooled: SealedCredentials): Promise<boolean> {
  const row = await findSealed(tx, spooled.accountId)
  if (!row || row.sealed.obtainedAt >= spooled.obtainedAt) return false
  const sealers = { from: keys.sealerOf(spooled), to: keys.sealerOf(row.sealed) }
  const { origin } = new URL(row.baseUrl)
  if ((openFields(sealers.from, spooled).origin ?? origin) !== origin) return false
  await upsertSealed(tx, reseal(sealers, spooled, origin))
  return true
}

async function replaySpool(parts: VaultParts, spooled: SealedCredentials): Promise<void> {
  const { accountId } = spooled
  const taken = await parts.store.transaction(async (tx) => {
    await lockCredentials(tx, accountId)
    return await takeOverSpool(tx, parts.keys, spooled)
  })
  if (taken) parts.log.warn({ accountId }, 'put spooled tokens in place')
  await parts.spool.remove(accountId, spooled.obtainedAt)
}
