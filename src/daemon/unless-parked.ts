import { CredentialsRejectedError } from '../kit/errors.ts'
import type { Account } from '../store/accounts.ts'
import { UnreadableLoginError } from '../store/vault/unreadable.ts'
import type { House } from './house.ts'

/**
 * Works for an account, and parks it when its tokens cannot be read. An account that is known to need a login is tried, because
 * its last token may still serve, but its refusal is no news: it was said when the login ended, and status, the dashboard and
 * doctor go on saying it.
 */
export async function unlessParked<T>(
  house: Pick<House, 'vault'>,
  account: Account,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UnreadableLoginError) return void (await house.vault.parkUnreadable(error))
    if (account.needsLogin && error instanceof CredentialsRejectedError) return undefined
    throw error
  }
}
