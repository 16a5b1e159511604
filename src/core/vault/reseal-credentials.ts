import { eq, sql } from 'drizzle-orm'
import { credentials } from '../store/schema/index.ts'
import type { Tx } from '../store/store.ts'
import { keepRider } from './riders.ts'
import {
  makeSealer,
  orUnreadable,
  reseal,
  type SealedCredentials,
  type Sealer,
  type UnreadableLoginError,
} from './seal.ts'
import {
  findEverySealed,
  lockingTransaction,
  restoreSpooledTokens,
  type SealedRow,
  type VaultParts,
} from './stored-credentials.ts'
import { removeSpool } from './use-locked.ts'

/** How many logins the new key encrypts, and the errors of the unreadable logins, which stayed unchanged. */
export type Resealed = { logins: number; unreadable: UnreadableLoginError[] }

/**
 * Encrypts the credentials of every account with another key, in one transaction that waits for running refreshes and blocks new ones,
 * logins and other rotations. Writes spooled tokens to the table first. Under the lock, `nextKey` gets the ids of the keys in use and
 * returns a key that is already on the disk. Unreadable tokens stay and are reported. Throws UnreadableLoginError and changes nothing if
 * every row's key is unknown, or if a spool file cannot be read, because its tokens may need the old key.
 */
export async function resealCredentials(
  parts: VaultParts,
  nextKey: (used: ReadonlySet<string>) => Promise<Buffer>,
): Promise<Resealed> {
  const unreadable: Unreadable = new Map()
  const spooled: SealedCredentials[] = []
  const logins = await lockingTransaction(parts.store, async (tx) => {
    await tx.client.query('LOCK TABLE musette.credentials IN EXCLUSIVE MODE')
    for (const row of await findEverySealed(tx)) {
      await unlessUnreadable(unreadable, row, async () => {
        const found = await parts.spool.read(row.accountId)
        if (!found) return
        await restoreSpooledTokens(tx, parts.keys, found)
        spooled.push(found)
      })
    }
    const rows = await findEverySealed(tx)
    const openers = new Map<number, Sealer>()
    for (const row of rows) {
      await unlessUnreadable(unreadable, row, () => {
        openers.set(row.accountId, parts.keys.sealerOf(row.sealed))
      })
    }
    const [first] = unreadable.values()
    if (first && openers.size === 0) throw first
    const to = makeSealer(await nextKey(new Set(rows.map(({ sealed }) => sealed.keyId))))
    return await resealRows(tx, { rows, openers, to, unreadable })
  })
  for (const found of spooled) await removeSpool(parts, found)
  return { logins, unreadable: [...unreadable.values()] }
}

type Unreadable = Map<number, UnreadableLoginError>

async function resealRows(
  tx: Tx,
  input: { rows: SealedRow[]; openers: ReadonlyMap<number, Sealer>; to: Sealer; unreadable: Unreadable },
): Promise<number> {
  const { rows, openers, to, unreadable } = input
  let logins = 0
  for (const row of rows) {
    const from = openers.get(row.accountId)
    if (!from || row.sealed.keyId === to.keyId) continue
    // No key decrypts damaged values. With the new key's id they no longer keep the old key in use.
    let resealed: SealedCredentials = { ...row.sealed, keyId: to.keyId }
    await unlessUnreadable(unreadable, row, () => {
      resealed = reseal({ from, to }, row.sealed)
      logins += 1
    })
    const { clientSecret, accessToken, refreshToken, password, keyId, accountId } = resealed
    await keepRider(tx, accountId, accessToken)
    // Sets only the sealed columns, so that a pause after a failed refresh or an ended login stays.
    await tx.db
      .update(credentials)
      .set({ clientSecret, accessToken, refreshToken, password, keyId, updatedAt: sql`clock_timestamp()` })
      .where(eq(credentials.accountId, accountId))
  }
  return logins
}

/** Runs work on one account's tokens and collects its UnreadableLoginError for the report; rethrows `spool_unreadable`. */
async function unlessUnreadable(
  unreadable: Unreadable,
  account: { accountId: number; name: string },
  work: () => Promise<void> | void,
): Promise<void> {
  const error = await orUnreadable(work, account)
  if (error?.code === 'spool_unreadable') throw error
  if (error) unreadable.set(account.accountId, error)
}
