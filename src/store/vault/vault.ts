import { eq } from 'drizzle-orm'
import type { Logger } from 'pino'
import { forgetCursors, upsertAccount } from '../accounts.ts'
import { credentials } from '../schema/index.ts'
import type { Store } from '../store.ts'
import { type KeyOptions, makeKeyring } from './keyring.ts'
import { useLocked } from './locked.ts'
import { readCredentials } from './read.ts'
import { resealCredentials } from './rotate.ts'
import {
  findKeyIds,
  limitLockWait,
  lockCredentials,
  lockCredentialsOf,
  recordNeedsLogin,
  sealLogin,
  upsertSealed,
} from './rows.ts'
import { makeSpool } from './spool.ts'
import type { Vault } from './types.ts'

export type { KeyOptions } from './keyring.ts'
export type { Vault } from './types.ts'

/**
 * Makes the vault that keeps tokens sealed in `musette.credentials`. A new pair goes to a spool file first and then
 * to the table, so neither a crash nor an outage between the two loses it, and whoever gets the lock after a failed
 * commit finds it. Throws ConfigError `secret_key_length` for a key that has not 32 bytes.
 */
export function makeTokenVault(
  deps: { store: Store; log: Logger },
  options: KeyOptions & { spoolDir: string },
): Vault {
  const parts = { ...deps, keys: makeKeyring(options), spool: makeSpool(options.spoolDir) }
  const { store, keys, spool } = parts
  return {
    read: (accountId) => readCredentials(parts, accountId),
    locked: (accountId, use) => useLocked(parts, accountId, use),
    async saveLogin({ name, baseUrl }, login) {
      const account = await store.transaction(async (tx) => {
        await limitLockWait(tx)
        const before = await lockCredentialsOf(tx, name)
        const made = await upsertAccount(tx, { name, baseUrl })
        const { accountId } = made
        // Perhaps another rider: what was mirrored so far does not say how far this one's history is.
        if (before?.username !== (login.username ?? null)) await forgetCursors(tx, accountId)
        const sealer = keys.sealerForNew(await findKeyIds(tx))
        const { origin } = new URL(baseUrl)
        await upsertSealed(tx, sealLogin(sealer, { accountId, origin }, login))
        return { ...made, needsLogin: false, lastError: null }
      })
      await spool.clear(account.accountId)
      return account
    },
    async forget(accountId) {
      await store.transaction(async (tx) => {
        await limitLockWait(tx)
        await lockCredentials(tx, accountId)
        await tx.db.delete(credentials).where(eq(credentials.accountId, accountId))
        await recordNeedsLogin(tx, accountId, 'signed out')
      })
      await spool.clear(accountId)
    },
    rotate: (nextKey) => resealCredentials(parts, nextKey),
  }
}
