import { ConfigError, errorLine } from '../../kit/errors.ts'
import { mapDatabaseError } from '../errors.ts'
import type { Tx } from '../store.ts'
import { takeBack, takeOverSpool, type VaultParts } from './read.ts'
import {
  findSealed,
  limitLockWait,
  lockCredentials,
  recordNeedsLogin,
  recordRefreshFailure,
  reseal,
  type SealedCredentials,
  sealPair,
  upsertSealed,
} from './rows.ts'
import type { HeldCredentials, TokenPair } from './types.ts'

type End<T> = { ok: true; result: T } | { ok: false; error: unknown }

/** What happened under the lock; it outlives the transaction. */
type Story<T> = {
  end: End<T> | undefined
  /** the row as it is under the lock, or the pair last handed to save */
  newest: SealedCredentials | undefined
  /** a spool file was found, and is done with once the transaction commits */
  leftover: boolean
  /** a pair was handed to save and is in the spool, so it is safe whatever becomes of the transaction */
  spooled: boolean
  /** why the table refused that pair, whose only place then is the spool file */
  refused: unknown
}

/**
 * Runs `use` in one transaction that holds the account's row. A pair handed to `save` is in the spool before the
 * table is tried: when the update or the commit then fails, this ends as `use` ended, and the pair is put in place
 * later. Any other failed commit is thrown as the store maps it.
 */
export async function useLocked<T>(
  parts: VaultParts,
  accountId: number,
  use: (held: HeldCredentials) => Promise<T>,
): Promise<T> {
  const empty = { end: undefined, newest: undefined, refused: undefined }
  const story: Story<T> = { ...empty, leftover: false, spooled: false }
  try {
    await parts.store.transaction(async (tx) => {
      await limitLockWait(tx)
      await lockCredentials(tx, accountId)
      const held = await hold(parts, tx, { accountId, story })
      // What `use` wrote before it threw is kept: neither a saved pair nor a parked account may be rolled back.
      story.end = await settle(() => use(held))
    })
  } catch (error) {
    if (!story.end || (!story.spooled && story.end.ok)) throw error
    if (story.spooled) warnSpooled(parts, accountId, error)
    return finish(story.end)
  }
  const isDone = (story.spooled || story.leftover) && !story.refused
  if (story.newest && isDone) await removeSpool(parts, story.newest)
  if (story.refused) warnSpooled(parts, accountId, story.refused)
  if (!story.end) throw new Error('a transaction that commits has run its function')
  return finish(story.end)
}

async function hold<T>(
  parts: VaultParts,
  tx: Tx,
  input: { accountId: number; story: Story<T> },
): Promise<HeldCredentials> {
  const { accountId, story } = input
  const spooled = await parts.spool.read(accountId)
  if (spooled) await takeOverSpool(tx, parts.keys, spooled)
  story.newest = (await findSealed(tx, accountId))?.sealed
  story.leftover = spooled !== undefined
  const found = await takeBack(tx, parts, accountId)
  return {
    credentials: found,
    save: (pair) => savePair(parts, tx, { accountId, origin: found?.origin, pair, story }),
    park: (reason) => recordNeedsLogin(tx, accountId, reason),
    recordFailure: (failure) => recordRefreshFailure(tx, accountId, failure),
  }
}

async function savePair<T>(
  parts: VaultParts,
  tx: Tx,
  input: { accountId: number; origin: string | undefined; pair: TokenPair; story: Story<T> },
): Promise<void> {
  const { accountId, origin, pair, story } = input
  if (!story.newest || origin === undefined) {
    throw new ConfigError(
      'not_signed_in',
      `vault, save tokens: account ${accountId} has none; run: musette login`,
    )
  }
  // One key seals a row whole, and the key in use may have changed since this process began.
  const sealer = parts.keys.sealerOf(story.newest)
  const sealed: SealedCredentials = {
    ...reseal({ from: sealer, to: sealer }, story.newest, origin),
    ...sealPair(sealer, { accountId, origin }, pair),
  }
  story.newest = sealed
  story.spooled = await trySpool(parts, sealed)
  try {
    await upsertSealed(tx, sealed)
  } catch (error) {
    // With the pair in the spool a dead connection is no failure. Its commit fails, too; that of a refused value does not.
    if (!story.spooled) throw error
    story.refused = error
  }
}

function warnSpooled({ log }: VaultParts, accountId: number, error: unknown): void {
  const reason = errorLine(mapDatabaseError(error, 'query'))
  log.warn({ accountId, reason }, 'the database did not take new tokens; the spool keeps them')
}

async function trySpool(parts: VaultParts, sealed: SealedCredentials): Promise<boolean> {
  try {
    await parts.spool.write(sealed)
    return true
  } catch (error) {
    parts.log.error(
      { accountId: sealed.accountId, reason: errorLine(error) },
      'cannot write the spool file of new tokens',
    )
    return false
  }
}

/** Removes a spool file whose tokens the table holds; a failure is only logged, since the next read tries again. */
export async function removeSpool(parts: VaultParts, sealed: SealedCredentials): Promise<void> {
  try {
    await parts.spool.remove(sealed.accountId, sealed.obtainedAt)
  } catch (error) {
    parts.log.warn(
      { accountId: sealed.accountId, reason: errorLine(error) },
      'cannot remove a spool file that is done with',
    )
  }
}

async function settle<T>(work: () => Promise<T>): Promise<End<T>> {
  try {
    return { ok: true, result: await work() }
  } catch (error) {
    return { ok: false, error: mapDatabaseError(error, 'query') }
  }
}

function finish<T>(end: End<T>): T {
  if (end.ok) return end.result
  throw end.error
}
