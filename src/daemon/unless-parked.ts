import { CredentialsRejectedError } from '../kit/errors.ts'
import type { Account } from '../store/accounts.ts'

/**
 * An account that is known to need a login is tried, because its last token may still serve, but its refusal is no
 * news: it was said when the login ended, and status, the dashboard and doctor go on saying it.
 */
export async function unlessParked<T>(account: Account, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (account.needsLogin && error instanceof CredentialsRejectedError) return undefined
    throw error
  }
}
