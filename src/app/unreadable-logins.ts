import { findAccounts } from '../store/account-rows.ts'
import { UnreadableLoginError } from '../store/vault/seal.ts'
import type { App } from './app.ts'

/**
 * Reads the login of every account, and parks those that cannot be read, so that the others go on. When not one of them opens
 * with the key at hand, the key is the wrong one and not the accounts: nothing is touched, and the error of the first is returned.
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

/** Parks an account for tokens that this process cannot read, unless only the key of this process may be the reason. */
export async function parkIfDamaged(app: Pick<App, 'vault'>, error: unknown): Promise<void> {
  if (!(error instanceof UnreadableLoginError) || error.code === 'secret_key_mismatch') return
  await app.vault.parkUnreadable(error)
}
