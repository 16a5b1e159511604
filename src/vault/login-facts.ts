import { findIdentity } from '../store/database-facts.ts'
import type { Tx } from '../store/store.ts'
import { findEverySealed } from './rows.ts'
import { type KeyOptions, makeKeyring, UnreadableLoginError } from './seal.ts'
import { makeSpool, unsealRow, unsealSpooled } from './stored-credentials.ts'

/** The facts about a login that are not secret. */
export type LoginFacts = {
  account: string
  keyId: string
  /** true when a known key opens it, else the reason; undefined when there is no key */
  opens: true | UnreadableLoginError | undefined
  obtainedAt: Date
  expiresAt: Date
  failures: number
  notBefore: Date | null
  /** newer tokens in a spool file: none, waiting for the database, or why they are unreadable */
  spool: 'none' | 'waiting' | UnreadableLoginError
}

/** Finds the facts about every login. Opens them with the known keys and changes nothing, also no spooled tokens. */
export async function findLoginFacts(
  tx: Tx,
  options: { keys: KeyOptions | undefined; spoolDir: string },
): Promise<LoginFacts[]> {
  const keyring = options.keys && makeKeyring(options.keys)
  const spool = makeSpool(options.spoolDir, (await findIdentity(tx)).identity)
  const facts: LoginFacts[] = []
  for (const row of await findEverySealed(tx)) {
    const { keyId, obtainedAt, expiresAt, failures, notBefore, accountId } = row.sealed
    const opens =
      keyring &&
      (await orUnreadable(row, () => {
        unsealRow(keyring, row)
        return true as const
      }))
    const spooled = await orUnreadable(row, async () => {
      const found = await spool.read(accountId)
      if (!found || found.obtainedAt <= obtainedAt) return 'none' as const
      if (keyring) unsealSpooled(keyring.sealerOf(found), found)
      return 'waiting' as const
    })
    facts.push({
      account: row.name,
      keyId,
      opens,
      obtainedAt,
      expiresAt,
      failures,
      notBefore,
      spool: spooled,
    })
  }
  return facts
}

async function orUnreadable<T>(
  account: { accountId: number; name: string },
  read: () => Promise<T> | T,
): Promise<T | UnreadableLoginError> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof UnreadableLoginError) return error.of(account)
    throw error
  }
}
