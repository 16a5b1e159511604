import { findIdentity } from '../store/database-facts.ts'
import type { Tx } from '../store/store.ts'
import { type KeyOptions, makeKeyring, orUnreadable } from './seal.ts'
import { findEverySealed, makeSpool, unsealRow, unsealSpooled } from './stored-credentials.ts'

/** The facts about a login without its secrets. */
export type LoginFacts = Awaited<ReturnType<typeof findLoginFacts>>[number]

/** Finds the facts about every login. Opens it with the known keys and changes nothing, not even spooled tokens. */
export async function findLoginFacts(tx: Tx, options: { keys: KeyOptions | undefined; spoolDir: string }) {
  const keyring = options.keys && makeKeyring(options.keys)
  const spool = makeSpool(options.spoolDir, (await findIdentity(tx)).identity)
  const facts = []
  for (const row of await findEverySealed(tx)) {
    const { keyId, obtainedAt, expiresAt, failures, notBefore, accountId } = row.sealed
    const tryOpen = () => keyring && unsealRow(keyring, row) && (true as const)
    /** true when a known key opens it, else the reason; undefined when there is no key */
    const opens = await orUnreadable(tryOpen, row)
    /** newer tokens in a spool file: none, waiting for the database, or why they cannot be read */
    const spooled = await orUnreadable(async () => {
      const found = await spool.read(accountId)
      if (!found || found.obtainedAt <= obtainedAt) return 'none' as const
      if (keyring) unsealSpooled(keyring.sealerOf(found), found)
      return 'waiting' as const
    }, row)
    facts.push({
      ...{ account: row.name, keyId, opens, spool: spooled },
      ...{ obtainedAt, expiresAt, failures, notBefore },
    })
  }
  return facts
}
