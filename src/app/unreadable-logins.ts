import { findAccounts } from '../store/account-rows.ts'
import { UnreadableLoginError } from '../store/vault/seal.ts'
import type { App } from './app.ts'

/**
 * Reads the login of every account and parks those that cannot be read, so that the others go on. When no login can be opened
 * with the current key, the key is wrong: no account is parked, and the error of the first one is returned.
 */
export async function parkUnreadableLogins(
  app: Pick<App, 'store' | 'vault'>,
): Promise<UnreadableLoginError | undefined> {
  const { store, vault } = app
  let readable = 0
  const unreadable: UnreadableLoginError[] = []
  for (const { accountId } of await store.read(findAccounts)) {
    try {
      if (await vault.read(accountId)) readable += 1
    } catch (error) {
      if (!(error instanceof UnreadableLoginError)) throw error
      unreadable.push(error)
    }
  }
  if (readable === 0 && unreadable.every(({ code }) => code === 'secret_key_mismatch')) return unreadable[0]
  for (const error of unreadable) await vault.parkUnreadable(error)
  return undefined
}

/** Parks the account of an UnreadableLoginError, unless this process may only have the wrong key; ignores other errors. */
export async function parkIfDamaged(app: Pick<App, 'vault'>, error: unknown): Promise<void> {
  if (!(error instanceof UnreadableLoginError) || error.code === 'secret_key_mismatch') return
  await app.vault.parkUnreadable(error)
}
