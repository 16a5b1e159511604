import { ConfigError, errorLine } from '../../kit/errors.ts'
import type { HeldCredentials } from '../service/credentials.ts'
import { mapDatabaseError } from '../store/database-errors.ts'
import type { Tx } from '../store/store.ts'
import { keepRider, recordRider } from './riders.ts'
import { reseal, type SealedCredentials } from './seal.ts'
import {
  findCredentialsAndUnpark,
  findSealed,
  lockCredentials,
  lockingTransaction,
  recordLogin,
  recordNeedsLogin,
  restoreSpooledTokens,
  upsertSealed,
  type VaultParts,
} from './stored-credentials.ts'

/** Progress of the work under the lock, which survives a rollback. */
type LockedUse<T> = {
  end: PromiseSettledResult<T> | undefined
  /** the locked row, or the pair of tokens last passed to `save` */
  newest: SealedCredentials | undefined
  /** a spool file was found and must be removed after the commit */
  leftover: boolean
  /** a saved pair is in the spool, so it is safe even if the transaction fails */
  spooled: boolean
  /** why the table refused the saved pair, which is then only in the spool */
  refused: unknown
}

/**
 * Runs `use` in one transaction that locks the account's row. `save` writes a pair to the spool before the table. If the update or the
 * commit then fails, the result of `use` still counts, and the pair reaches the table later. Any other failed commit is thrown as the
 * store's error.
 */
export async function useLocked<T>(
  parts: VaultParts,
  accountId: number,
  use: (held: HeldCredentials) => Promise<T>,
): Promise<T> {
  const empty = { end: undefined, newest: undefined, refused: undefined }
  const state: LockedUse<T> = { ...empty, leftover: false, spooled: false }
  try {
    await lockingTransaction(parts.store, async (tx) => {
      await lockCredentials(tx, accountId)
      const held = await readUnderLock(parts, tx, { accountId, state })
      // Commits even if `use` throws, because neither a saved pair nor a parked account may be rolled back.
      ;[state.end] = await Promise.allSettled([use(held)])
    })
  } catch (error) {
    if (!state.end || (!state.spooled && state.end.status === 'fulfilled')) throw error
    if (state.spooled) warnSpooled(parts, accountId, error)
    return unwrap(state.end)
  }
  const isDone = (state.spooled || state.leftover) && !state.refused
  if (state.newest && isDone) await removeSpool(parts, state.newest)
  if (state.refused) warnSpooled(parts, accountId, state.refused)
  if (!state.end) throw new Error('a transaction that commits has run its function')
  return unwrap(state.end)
}

async function readUnderLock<T>(
  parts: VaultParts,
  tx: Tx,
  input: { accountId: number; state: LockedUse<T> },
): Promise<HeldCredentials> {
  const { accountId, state } = input
  const spooled = await parts.spool.read(accountId)
  if (spooled) await restoreSpooledTokens(tx, parts.keys, spooled)
  const row = await findSealed(tx, accountId)
  state.newest = row?.sealed
  state.leftover = spooled !== undefined
  const found = await findCredentialsAndUnpark(tx, parts, accountId)
  return {
    credentials: found,
    async save(pair, failures = 0) {
      if (!state.newest || !found) {
        throw new ConfigError('not_signed_in', `account ${accountId} is not signed in; run: musette login`)
      }
      // One key encrypts all values of a row, and another process may have rotated the key.
      const sealer = parts.keys.sealerOf(state.newest)
      const sealed = reseal({ from: sealer, to: sealer }, state.newest, pair)
      state.newest = sealed
      state.spooled = await parts.spool.write(sealed).then(
        () => true,
        (error: unknown) => {
          parts.log.error(
            { accountId, reason: errorLine(error) },
            'cannot write the spool file of new tokens',
          )
          return false
        },
      )
      try {
        await keepRider(tx, accountId, sealed.accessToken)
        await upsertSealed(tx, sealed, { failures })
      } catch (error) {
        // If the pair is in the spool, a lost connection or its failed commit is no failure. After a refused value the commit succeeds.
        if (!state.spooled) throw error
        state.refused = error
      }
    },
    park: (reason) =>
      recordLogin(tx, accountId, { refusals: 0, refusedSince: null, needsLogin: true, reason }),
    recordState: ({ refusedSince = null, notBefore = null, ...rest }) =>
      recordLogin(tx, accountId, { refusedSince, notBefore, ...rest }),
    async recordRider({ isOther, reason }) {
      const sealed = state.newest
      if (!sealed || !found) return
      const verdict = isOther ? 'other' : 'same'
      if (isOther || row?.isOther) await recordNeedsLogin(tx, accountId, reason)
      await recordRider(tx, parts.keys.sealerOf(sealed), { sealed, verdict, login: found })
    },
  }
}

function warnSpooled({ log }: VaultParts, accountId: number, error: unknown): void {
  const reason = errorLine(mapDatabaseError(error, 'query'))
  log.warn({ accountId, reason }, 'could not store new tokens; the spool file keeps them')
}

/** Removes the spool file of tokens that are in the table. Only logs a failure, because the next read tries again. */
export async function removeSpool(parts: VaultParts, sealed: SealedCredentials): Promise<void> {
  const { accountId, obtainedAt } = sealed
  await parts.spool.remove(accountId, obtainedAt).catch((error: unknown) => {
    parts.log.warn({ accountId, reason: errorLine(error) }, 'cannot remove a spool file no longer needed')
  })
}

function unwrap<T>(end: PromiseSettledResult<T>): T {
  if (end.status === 'fulfilled') return end.value
  throw mapDatabaseError(end.reason, 'query')
}
