import { eq } from 'drizzle-orm'
import type { Logger } from 'pino'
import { findAccount, findAccountById, forgetCursors, upsertAccount } from '../store/account-rows.ts'
import { credentials } from '../store/schema/index.ts'
import type { Store } from '../store/store.ts'
import { resealCredentials } from './reseal-credentials.ts'
import { findEvidence, recordRider } from './riders.ts'
import {
  findKeyIds,
  findSealed,
  lockCredentials,
  lockingTransaction,
  recordLogin,
  recordNeedsLogin,
  sealLogin,
  upsertSealed,
} from './rows.ts'
import { type KeyOptions, makeKeyring, UnreadableLoginError } from './seal.ts'
import {
  findCredentialsAndUnpark,
  findDoubtfulLogins,
  isReadable,
  makeSpool,
  readCredentials,
} from './stored-credentials.ts'
import type { Vault } from './types.ts'
import { useLocked } from './use-locked.ts'

export type { KeyOptions } from './seal.ts'
export type { Vault } from './types.ts'

/**
 * Makes the vault that keeps tokens sealed in `musette.credentials`. A new pair is written to a spool file before the table, so
 * that neither a crash nor an outage loses it, and the next process with the lock finds it after a failed commit. Throws
 * ConfigError `secret_key_length` for a key that does not have 32 bytes.
 */
export function makeTokenVault(
  deps: { store: Store; log: Logger },
  options: KeyOptions & { spoolDir: string; identity: string },
): Vault {
  const parts = { ...deps, keys: makeKeyring(options), spool: makeSpool(options.spoolDir, options.identity) }
  const { store, keys, spool } = parts
  return {
    read: (accountId) => named(store, readCredentials(parts, accountId)),
    findDoubtful: () => findDoubtfulLogins(parts),
    locked: (accountId, use) => named(store, useLocked(parts, accountId, use)),
    findEvidence: (accountId, login) => store.read((tx) => findEvidence(tx, keys, { accountId, login })),
    async saveLogin({ name, baseUrl }, login, rider = 'unknown') {
      const account = await lockingTransaction(store, async (tx) => {
        const known = await findAccount(tx, name)
        if (known) await lockCredentials(tx, known.accountId)
        const made = await upsertAccount(tx, { name, baseUrl })
        const { accountId } = made
        if (rider !== 'same') await forgetCursors(tx, accountId)
        const sealer = keys.sealerForNew(await findKeyIds(tx))
        const { origin } = new URL(baseUrl)
        const sealed = sealLogin(sealer, { accountId, origin }, login)
        await upsertSealed(tx, sealed, { refusals: 0, refusedSince: null })
        await recordRider(tx, sealer, { sealed, verdict: rider, login: { origin, username: login.username } })
        return { ...made, needsLogin: false, lastError: null }
      })
      const { accountId } = account
      await spool.clear(accountId)
      await store.transaction(async (tx) => {
        await lockCredentials(tx, accountId)
        // Before the spool file was removed, another process may have parked the account because of it.
        await findCredentialsAndUnpark(tx, parts, accountId)
      })
      return account
    },
    async forget(accountId) {
      await lockingTransaction(store, async (tx) => {
        await lockCredentials(tx, accountId)
        await tx.db.delete(credentials).where(eq(credentials.accountId, accountId))
        await recordNeedsLogin(tx, accountId, 'signed out')
      })
      await spool.clear(accountId)
    },
    async parkUnreadable({ accountId, code, message }) {
      const parked = await lockingTransaction(store, async (tx) => {
        await lockCredentials(tx, accountId)
        const row = await findSealed(tx, accountId)
        if (await isReadable(tx, parts, accountId)) return false
        // An ended login stays ended, also when its tokens are readable again.
        if (!row || (row.needsLogin && !row.unreadable) || row.lastError === message) return false
        await recordLogin(tx, accountId, { unreadable: true, needsLogin: true, reason: message })
        return true
      })
      if (parked) deps.log.error({ accountId, code }, message)
    },
    rotate: (nextKey) => resealCredentials(parts, nextKey),
  }
}

/** Adds the account's name to an UnreadableLoginError, for the command in its message. */
async function named<T>(store: Store, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof UnreadableLoginError)) throw error
    const { accountId } = error
    const account = await store.read((tx) => findAccountById(tx, accountId)).catch(() => undefined)
    throw account ? error.of(account) : error
  }
}
