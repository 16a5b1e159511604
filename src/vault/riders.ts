import { createHash } from 'node:crypto'
import { eq } from 'drizzle-orm'
import type { RiderEvidence } from '../service/credentials.ts'
import { riders } from '../store/schema/index.ts'
import type { Tx } from '../store/store.ts'
import type { SealedCredentials } from './rows.ts'
import { type Keyring, type Sealer, UnreadableLoginError } from './seal.ts'

/** A rider at a service: a user name means something at its own service only. */
type Named = { accountId: number; origin: string; username: string }

/** The newest activities are compared: a rider may have deleted some, and hardly all of them. */
const COMPARED = 20

/** Finds what tells whose account it is; with a user name also whether the last login by password had that name, letter by letter. */
export async function findEvidence(
  tx: Tx,
  keys: Keyring,
  { accountId, login }: { accountId: number; login?: { origin: string; username: string } | undefined },
): Promise<RiderEvidence> {
  const { rows } = await tx.client.query<Omit<RiderEvidence, 'name'>>(
    `select coalesce(array_agg(path), '{}') as paths, min(started_at) - interval '2 days' as from,
            max(started_at) + interval '2 days' as to,
            exists (select from training.training_info where account_id = $1)
              or exists (select from training.activities where account_id = $1)
              or exists (select from training.uploads where account_id = $1) as "holdsRows"
     from (select path, started_at from training.activities
           where account_id = $1 and absent_since is null and started_at is not null
           order by started_at desc limit ${COMPARED}) newest`,
    [accountId],
  )
  const found = rows[0] as Omit<RiderEvidence, 'name'>
  const [known] = await tx.db.select().from(riders).where(eq(riders.accountId, accountId))
  if (!login || !known?.nameHash || known.keyId === null) return { ...found, name: 'unknown' }
  try {
    const hash = hashOf(keys.sealerOf({ accountId, keyId: known.keyId }), { accountId, ...login })
    return { ...found, name: known.nameHash.equals(hash) ? 'same' : 'other' }
  } catch (error) {
    if (error instanceof UnreadableLoginError) return { ...found, name: 'unknown' }
    throw error
  }
}

/** Records whether sealed tokens were compared with the account, and the user name of a login as a hash. */
export async function recordRider(
  tx: Tx,
  sealer: Sealer,
  input: {
    sealed: Pick<SealedCredentials, 'accountId' | 'accessToken'>
    verdict: 'same' | 'other' | 'unknown'
    login?: { origin: string; username?: string | undefined } | undefined
  },
): Promise<void> {
  const { verdict, login, sealed } = input
  const { accountId, accessToken } = sealed
  const pair = verdict === 'unknown' ? null : createHash('sha256').update(accessToken).digest()
  const { username, origin } = login ?? {}
  const isNamed = verdict === 'same' && username !== undefined && origin !== undefined
  const name = isNamed && { nameHash: hashOf(sealer, { accountId, origin, username }), keyId: sealer.keyId }
  // Rows of an earlier version have the name itself.
  if (isNamed)
    await tx.client.query(
      'update musette.credentials set username = null where account_id = $1 and password is null',
      [accountId],
    )
  const set = { pair, isOther: verdict === 'other', ...name }
  await tx.db
    .insert(riders)
    .values({ accountId, ...set })
    .onConflictDoUpdate({ target: riders.accountId, set })
}

/** Lets the tokens that replace an account's compared ones count as compared. Must come before they are written. */
export async function keepRider(tx: Tx, accountId: number, accessToken: Buffer): Promise<void> {
  await tx.client.query(
    `update musette.riders r set pair = sha256($2) from musette.credentials c
     where r.account_id = $1 and c.account_id = $1 and r.pair = sha256(c.access_token)`,
    [accountId, accessToken],
  )
}

function hashOf(sealer: Sealer, { accountId, origin, username }: Named): Buffer {
  return sealer.hash(`${accountId}\n${origin}\n${username}`)
}
