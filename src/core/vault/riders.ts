import { createHash } from 'node:crypto'
import { and, eq, isNull } from 'drizzle-orm'
import type { NamedLogin, RiderEvidence } from '../service/credentials.ts'
import { credentials, riders } from '../store/schema/index.ts'
import type { Tx } from '../store/store.ts'
import {
  type Keyring,
  orUnreadable,
  type SealedCredentials,
  type Sealer,
  UnreadableLoginError,
} from './seal.ts'

/** Number of the newest activities to compare: a rider may have deleted some, but hardly all. */
const COMPARED = 20

/** Finds the evidence of an account's rider. If `login` has a user name, also finds whether the last password login had exactly that name. */
export async function findEvidence(
  tx: Tx,
  keys: Keyring,
  { accountId, login }: { accountId: number; login: NamedLogin | undefined },
): Promise<RiderEvidence> {
  const { rows } = await tx.client.query<Omit<RiderEvidence, 'name'>>(
    `select coalesce(array_agg(path), '{}') as paths, min(started_at) - interval '2 days' as from,
            max(started_at) + interval '2 days' as to,
            exists (select from training.training_info where account_id = $1) as "holdsRows"
     from (select path, started_at from training.activities
           where account_id = $1 and absent_since is null and started_at is not null
           order by started_at desc limit ${COMPARED}) newest`,
    [accountId],
  )
  const found = rows[0] as Omit<RiderEvidence, 'name'>
  const [known] = await tx.db.select().from(riders).where(eq(riders.accountId, accountId))
  if (!known?.nameHash || known.keyId === null) return { ...found, name: 'unknown' }
  const { nameHash, keyId } = known
  const sealer = await orUnreadable(() => keys.sealerOf({ accountId, keyId }))
  const hash = login && !(sealer instanceof UnreadableLoginError) && hashOf(sealer, accountId, login)
  return { ...found, name: !hash ? 'unknown' : hash.equals(nameHash) ? 'same' : 'other' }
}

/**
 * Records whether sealed tokens were compared with the account, and the hash of a login's user name. An `accepted` login without a name
 * deletes the hash of the last name.
 */
export async function recordRider(
  tx: Tx,
  sealer: Sealer,
  input: {
    sealed: Pick<SealedCredentials, 'accountId' | 'accessToken'>
    verdict: 'same' | 'accepted' | 'other' | 'unknown'
    login: NamedLogin
  },
): Promise<void> {
  const { verdict, login, sealed } = input
  const { accountId, accessToken } = sealed
  const pair = verdict === 'unknown' ? null : createHash('sha256').update(accessToken).digest()
  const isKnown = verdict === 'same' || verdict === 'accepted'
  const nameHash = hashOf(sealer, accountId, login) ?? (verdict === 'accepted' ? null : undefined)
  const name = isKnown && nameHash !== undefined && { nameHash, keyId: sealer.keyId }
  const set = { pair, isOther: verdict === 'other', ...name }
  await tx.db
    .insert(riders)
    .values({ accountId, ...set })
    .onConflictDoUpdate({ target: riders.accountId, set })
  // Rows of an earlier version hold the user name itself.
  const isNameOnly = and(eq(credentials.accountId, accountId), isNull(credentials.password))
  if (name) await tx.db.update(credentials).set({ username: null }).where(isNameOnly)
}

/** Marks new tokens as compared if they replace compared tokens. Must run before the new tokens are written. */
export async function keepRider(tx: Tx, accountId: number, accessToken: Buffer): Promise<void> {
  await tx.client.query(
    `update musette.riders r set pair = sha256($2) from musette.credentials c
     where r.account_id = $1 and c.account_id = $1 and r.pair = sha256(c.access_token)`,
    [accountId, accessToken],
  )
}

/** Returns the hash of a user name, different for each account and service. */
function hashOf(sealer: Sealer, accountId: number, { origin, username }: NamedLogin) {
  return username === undefined ? undefined : sealer.hash(`${accountId}\n${origin}\n${username}`)
}
