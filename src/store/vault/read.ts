import type { Logger } from 'pino'
import { TransientError } from '../../kit/errors.ts'
import type { Store, Tx } from '../store.ts'
import { findSealed, lockCredentials, openSealed, type SealedCredentials, upsertSealed } from './rows.ts'
import { keyMismatch, type Sealer } from './seal.ts'
import type { Spool } from './spool.ts'
import type { Credentials } from './types.ts'

/** What the parts of the vault share. */
export type VaultParts = Readonly<{ store: Store; log: Logger; sealer: Sealer; spool: Spool }>

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
    return await parts.store.read((tx) => findCredentials(tx, parts.sealer, accountId))
  } catch (error) {
    if (!spooled || !(error instanceof TransientError)) throw error
    return openSealed(parts.sealer, spooled, UNKNOWN_STATE)
  }
}

/** Finds an account's credentials in the table, opened; throws ConfigError `secret_key_mismatch`. */
export async function findCredentials(
  tx: Tx,
  sealer: Sealer,
  accountId: number,
): Promise<Credentials | undefined> {
  const row = await findSealed(tx, accountId)
  return row && openSealed(sealer, row.sealed, { ...row.sealed, needsLogin: row.needsLogin })
}

/**
 * Puts spooled tokens in place when they are newer than the locked row's. Tokens sealed with another key are left
 * alone (ConfigError), and those of an account that was signed out are not brought back.
 */
export async function takeOverSpool(tx: Tx, sealer: Sealer, spooled: SealedCredentials): Promise<boolean> {
  if (spooled.keyId !== sealer.keyId) throw keyMismatch(spooled.accountId)
  const row = await findSealed(tx, spooled.accountId)
  if (!row || row.sealed.obtainedAt >= spooled.obtainedAt) return false
  await upsertSealed(tx, spooled)
  return true
}

async function replaySpool(parts: VaultParts, spooled: SealedCredentials): Promise<void> {
  const { accountId } = spooled
  const taken = await parts.store.transaction(async (tx) => {
    await lockCredentials(tx, accountId)
    return await takeOverSpool(tx, parts.sealer, spooled)
  })
  if (taken) parts.log.warn({ accountId }, 'put spooled tokens in place')
  await parts.spool.remove(accountId, spooled.obtainedAt)
}
