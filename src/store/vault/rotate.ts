import { asc, eq, sql } from 'drizzle-orm'
import { accounts, credentials } from '../schema/index.ts'
import type { Tx } from '../store.ts'
import { removeSpool } from './locked.ts'
import { takeOverSpool, type VaultParts } from './read.ts'
import { limitLockWait, reseal, type SealedCredentials } from './rows.ts'
import { makeSealer } from './seal.ts'

/**
 * Seals the credentials of every account with another key, in one transaction that waits for the refreshes under way and
 * keeps new ones, logins and other rotations out. Spooled tokens are put in place first. `nextKey` is called under that
 * lock with the ids of the keys that seal the rows; the key it returns must be on the disk by then. Every row is opened
 * before one is written: ConfigError `secret_key_mismatch` changes nothing. Returns the number of rows sealed anew.
 */
export async function resealCredentials(
  parts: VaultParts,
  nextKey: (used: ReadonlySet<string>) => Promise<Buffer>,
): Promise<number> {
  const spooled: SealedCredentials[] = []
  const resealed = await parts.store.transaction(async (tx) => {
    await limitLockWait(tx)
    await tx.client.query('LOCK TABLE musette.credentials IN EXCLUSIVE MODE')
    for (const { sealed } of await findRows(tx)) {
      const found = await parts.spool.read(sealed.accountId)
      if (!found) continue
      await takeOverSpool(tx, parts.keys, found)
      spooled.push(found)
    }
    const rows = (await findRows(tx)).map((row) => ({ ...row, from: parts.keys.sealerOf(row.sealed) }))
    const to = makeSealer(await nextKey(new Set(rows.map(({ sealed }) => sealed.keyId))))
    const changed = rows
      .filter(({ sealed }) => sealed.keyId !== to.keyId)
      .map(({ sealed, from, baseUrl }) => reseal({ from, to }, sealed, new URL(baseUrl).origin))
    for (const row of changed) await updateSealed(tx, row)
    return changed.length
  })
  for (const found of spooled) await removeSpool(parts, found)
  return resealed
}

async function findRows(tx: Tx): Promise<Array<{ sealed: SealedCredentials; baseUrl: string }>> {
  return await tx.db
    .select({ sealed: credentials, baseUrl: accounts.baseUrl })
    .from(credentials)
    .innerJoin(accounts, eq(accounts.accountId, credentials.accountId))
    .orderBy(asc(credentials.accountId))
}

// Only what is sealed changes: a pause after a failed refresh and a login that has ended stay as they are.
async function updateSealed(tx: Tx, sealed: SealedCredentials): Promise<void> {
  const { clientSecret, accessToken, refreshToken, password, keyId, accountId } = sealed
  await tx.db
    .update(credentials)
    .set({ clientSecret, accessToken, refreshToken, password, keyId, updatedAt: sql`clock_timestamp()` })
    .where(eq(credentials.accountId, accountId))
}
