import { eq } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { HeldCredentials, NamedLogin } from '../service/credentials.ts'
import {
  type Account,
  findAccount,
  findAccountById,
  forgetCursors,
  upsertAccount,
} from '../store/account-rows.ts'
import { credentials } from '../store/schema/index.ts'
import type { Store } from '../store/store.ts'
import { resealCredentials } from './reseal-credentials.ts'
import { findEvidence, recordRider } from './riders.ts'
import { type KeyOptions, type Login, makeKeyring, sealLogin, UnreadableLoginError } from './seal.ts'
import {
  findCredentialsAndUnpark,
  findDoubtfulLogins,
  findEverySealed,
  findSealed,
  isReadable,
  lockCredentials,
  lockingTransaction,
  makeSpool,
  readCredentials,
  recordLogin,
  recordNeedsLogin,
  upsertSealed,
} from './stored-credentials.ts'
import { useLocked } from './use-locked.ts'

export type { KeyOptions } from './seal.ts'

export type Vault = ReturnType<typeof makeTokenVault>

/**
 * Makes the vault, which keeps sealed tokens in `musette.credentials`. It writes a new pair to a spool file before the table, so that
 * neither a crash nor an outage loses the pair; the next process with the lock finds it there. Throws ConfigError `secret_key_length` if a
 * key does not have 32 bytes.
 */
export function makeTokenVault(
  deps: { store: Store; log: Logger },
  options: KeyOptions & { spoolDir: string; identity: string },
) {
  const parts = { ...deps, keys: makeKeyring(options), spool: makeSpool(options.spoolDir, options.identity) }
  const { store, keys, spool } = parts
  return {
    read: (accountId: number) => named(store, readCredentials(parts, accountId)),
    /** Counts the readable logins of all accounts or of one account, and finds the accounts that `read` must check; see findDoubtfulLogins. */
    findDoubtful: (accountId?: number) => findDoubtfulLogins(parts, accountId),
    locked: <T>(accountId: number, use: (held: HeldCredentials) => Promise<T>) =>
      named(store, useLocked(parts, accountId, use)),
    findEvidence: (accountId: number, login?: NamedLogin) =>
      store.read((tx) => findEvidence(tx, keys, { accountId, login })),
    /**
     * Stores a new login in place of an earlier one. Creates the account or updates its base URL in the same transaction, so that tokens
     * and base URL belong together. The account is mirrored from the beginning if the base URL changes, or if the rider is not known to be
     * the `same`. Tokens of an `unknown` rider are compared before their first use. Waits up to 90 s for a running refresh, then throws
     * TransientError and changes nothing.
     */
    async saveLogin(
      { name, baseUrl }: { name: string; baseUrl: string },
      login: Login,
      rider: 'same' | 'accepted' | 'unknown' = 'unknown',
    ): Promise<Account> {
      const account = await lockingTransaction(store, async (tx) => {
        const known = await findAccount(tx, name)
        if (known) await lockCredentials(tx, known.accountId)
        const made = await upsertAccount(tx, { name, baseUrl })
        const { accountId } = made
        if (rider !== 'same') await forgetCursors(tx, accountId)
        const rows = await findEverySealed(tx)
        const other = rows.find((row) => row.accountId !== accountId)?.name
        const sealer = keys.sealerForNew(new Set(rows.map((row) => row.sealed.keyId)), other)
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
        // Another process may have parked the account because of the spool file.
        await findCredentialsAndUnpark(tx, parts, accountId)
      })
      return account
    },
    /** Deletes the tokens of an account; its mirrored data stays. */
    async forget(accountId: number): Promise<void> {
      await lockingTransaction(store, async (tx) => {
        await lockCredentials(tx, accountId)
        await tx.db.delete(credentials).where(eq(credentials.accountId, accountId))
        await recordNeedsLogin(tx, accountId, 'signed out')
      })
      await spool.clear(accountId)
    },
    /** Parks an account with unreadable tokens until they can be read again or it signs in. Stores the message in its row and logs it once. */
    async parkUnreadable({ accountId, code, message }: UnreadableLoginError): Promise<void> {
      const parked = await lockingTransaction(store, async (tx) => {
        await lockCredentials(tx, accountId)
        const row = await findSealed(tx, accountId)
        if (await isReadable(tx, parts, accountId)) return false
        // A login that has ended stays ended, even if its tokens can be read again.
        if (!row || (row.needsLogin && !row.unreadable) || row.lastError === message) return false
        await recordLogin(tx, accountId, { unreadable: true, needsLogin: true, reason: message })
        return true
      })
      if (parked) deps.log.error({ accountId, code }, message)
    },
    rotate: (nextKey: (used: ReadonlySet<string>) => Promise<Buffer>) => resealCredentials(parts, nextKey),
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
