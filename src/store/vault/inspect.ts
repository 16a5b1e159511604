import { asc, eq } from 'drizzle-orm'
import { ConfigError } from '../../kit/errors.ts'
import { accounts, credentials } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import { type KeyOptions, makeKeyring } from './keyring.ts'
import { openSealed } from './rows.ts'
import { makeSpool } from './spool.ts'

/** What can be told of a login without telling a secret. */
export type LoginFacts = {
  account: string
  keyId: string
  /** whether a key at hand opens it */
  opens: boolean
  obtainedAt: Date
  expiresAt: Date
  failures: number
  notBefore: Date | null
  /** newer tokens in a spool file: none, waiting to be put in place, or in a file that cannot be read */
  spool: 'none' | 'waiting' | 'damaged'
}

/** Finds what can be told of every login; opens them with the keys at hand, and puts no spooled tokens in place. */
export async function findLoginFacts(
  tx: Tx,
  options: { keys: KeyOptions | undefined; spoolDir: string },
): Promise<LoginFacts[]> {
  const keyring = options.keys && makeKeyring(options.keys)
  const spool = makeSpool(options.spoolDir)
  const rows = await tx.db
    .select({ account: accounts.name, baseUrl: accounts.baseUrl, sealed: credentials })
    .from(credentials)
    .innerJoin(accounts, eq(accounts.accountId, credentials.accountId))
    .orderBy(asc(credentials.accountId))
  const facts: LoginFacts[] = []
  for (const { account, baseUrl, sealed } of rows) {
    const { keyId, obtainedAt, expiresAt, failures, notBefore, accountId } = sealed
    const opens = isOpenable(() => {
      if (keyring) openSealed(keyring.sealerOf(sealed), sealed, { ...sealed, needsLogin: false, baseUrl })
      return keyring !== undefined
    })
    const spooled = await spool.read(accountId).then(
      (found) => (found && found.obtainedAt > obtainedAt ? ('waiting' as const) : ('none' as const)),
      () => 'damaged' as const,
    )
    facts.push({ account, keyId, opens, obtainedAt, expiresAt, failures, notBefore, spool: spooled })
  }
  return facts
}

function isOpenable(open: () => boolean): boolean {
  try {
    return open()
  } catch (error) {
    if (error instanceof ConfigError) return false
    throw error
  }
}
