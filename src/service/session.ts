import { RateLimitedError, RejectedError } from '../kit/errors.ts'
import { SECOND } from '../kit/time.ts'
import type { Credentials } from '../store/vault/types.ts'
import {
  assertOrigin,
  loginEnded,
  parkAccount,
  type RefreshDeps,
  type Renewal,
  refreshPending,
  renewTokens,
  type SessionAccount,
} from './refresh.ts'
import { MAX_LIFETIME_MS } from './wire/wire-token.ts'

/** What one process remembers of an account's session; two calls share one refresh through it. */
export type SessionState = {
  account: SessionAccount
  /** the share of a token's life after which it is renewed; drawn once, so that accounts do not come together */
  renewAfter: number
  /** an access token that the service answered with 401 */
  refused: string | undefined
  /** an access token that was accepted at one address after a 401 at another */
  proven: string | undefined
  /** the next renewal does not heed a pause after failures: a person waits for it */
  mayTryNow: boolean
  inFlight: Promise<Renewal> | undefined
  /** the last look at the vault and when it was begun (ms); none when what it found is no longer so */
  look: { at: number; found: Promise<Credentials | undefined>; pending: boolean } | undefined
}

/** A token is renewed between half and six tenths of its life: days remain for an outage of the service to pass. */
const RENEW_AFTER = 0.5
const RENEW_JITTER = 0.1
/** Long enough for fifty rides of a backfill to share a look at the vault, which is a query and a file. */
export const RECENT_MS = SECOND

/** Makes the memory of an account's session; `byHand` makes one attempt to renew at once, whatever failed before. */
export function makeSessionState(
  account: SessionAccount,
  { random, byHand }: { random: () => number; byHand: boolean },
): SessionState {
  return {
    account,
    renewAfter: RENEW_AFTER + RENEW_JITTER * random(),
    refused: undefined,
    proven: undefined,
    mayTryNow: byHand,
    inFlight: undefined,
    look: undefined,
  }
}

/** A request that needs a token, and one to another endpoint, which tells whether a token is refused there, too. */
type TokenCall<T> = {
  send: (accessToken: string) => Promise<T>
  sendElsewhere: (accessToken: string) => Promise<unknown>
}

/**
 * Calls the service with an access token. Renews the token beforehand when it is past half its life, and at once on a
 * 401, after which the call is repeated once. The vault is looked at each time, because a sibling process may have renewed
 * the pair or another rider signed in, unless a look `lookMs` old will do: for an object that only one rider has. A 401 that
 * a new token does not end, or where none is to be had, is the object's own when another endpoint accepts the token. Throws
 * CredentialsRejectedError when the login has ended (`needs_login`) or a brand-new token was refused (`token_refused`),
 * TransientError `refresh_pending`, RejectedError `refused_here` for a 401 of its own, and whatever `send` throws.
 */
export async function withToken<T>(
  deps: RefreshDeps,
  state: SessionState,
  call: TokenCall<T>,
  options: { signal?: AbortSignal | undefined; lookMs?: number | undefined } = {},
): Promise<T> {
  const { signal } = options
  let { lookMs = 0 } = options
  let held = await usableCredentials(deps, state, { signal, lookMs })
  for (let brandNew = false; ; ) {
    try {
      return await call.send(held.accessToken)
    } catch (error) {
      if (lookMs > 0 && isMissing(error)) {
        // Another rider may have signed in since that look, and it is this one's object.
        lookMs = 0
        const latest = await usableCredentials(deps, state, { signal, lookMs })
        if (latest.accessToken === held.accessToken) throw error
        held = latest
        continue
      }
      if (!isUnauthorized(error)) throw error
      const { accessToken } = held
      // A token that is known to be good is not renewed for each object that is refused.
      if (brandNew || state.proven === accessToken) {
        const verdict = await tryElsewhere(state, call, { accessToken, signal })
        if (verdict === 'accepted') throw refusedHere(error)
        if (verdict === 'unclear' && brandNew) throw error
      }
      state.refused = accessToken
      state.look = undefined
      if (brandNew) return await giveUp(deps, state, held)
      const renewal = await replaceRefused(deps, state, held, signal).catch(async (reason: unknown) => {
        const verdict = await tryElsewhere(state, call, { accessToken, signal })
        throw verdict === 'accepted' ? refusedHere(error) : reason
      })
      held = renewal.credentials
      // A pair that a sibling had stored may be old as well; only one that was just made ends the attempts.
      brandNew = renewal.kind === 'refreshed'
    }
  }
}

/** Tells whether another endpoint accepts a token that was refused; `unclear` when that one fails in another way. */
async function tryElsewhere(
  state: SessionState,
  call: Pick<TokenCall<unknown>, 'sendElsewhere'>,
  { accessToken, signal }: { accessToken: string; signal: AbortSignal | undefined },
): Promise<'accepted' | 'refused' | 'unclear'> {
  try {
    signal?.throwIfAborted()
    await call.sendElsewhere(accessToken)
  } catch (error) {
    signal?.throwIfAborted()
    return isUnauthorized(error) ? 'refused' : 'unclear'
  }
  state.proven = accessToken
  if (state.refused === accessToken) state.refused = undefined
  return 'accepted'
}

function refusedHere(error: RejectedError): RejectedError {
  const message = `${error.message}, and accepts it elsewhere: the login is good`
  return new RejectedError('refused_here', message, { status: 401, cause: error })
}

/** Renews the token when it is due. `fresh`: nothing was to be done, or the old one serves on until the next attempt. */
export async function refreshIfDue(
  deps: RefreshDeps,
  state: SessionState,
  signal?: AbortSignal,
): Promise<'fresh' | 'refreshed' | 'parked'> {
  const stored = await deps.vault.read(state.account.accountId)
  if (!stored || stored.needsLogin) return 'parked'
  assertOrigin(state.account, stored)
  if (isUsable(deps, state, stored) && !isDue(deps, state, stored)) return 'fresh'
  const renewal = await renewOnce(deps, state, stored, signal)
  if (renewal.kind === 'refreshed' || renewal.kind === 'parked') return renewal.kind
  if (renewal.kind === 'newer' || isUsable(deps, state, stored)) return 'fresh'
  throw pendingError(state, renewal)
}

async function usableCredentials(
  deps: RefreshDeps,
  state: SessionState,
  { signal, lookMs }: { signal: AbortSignal | undefined; lookMs: number },
): Promise<Credentials> {
  const { account } = state
  const stored = await look(deps, state, lookMs)
  if (!stored) throw loginEnded(account)
  assertOrigin(account, stored)
  const usable = isUsable(deps, state, stored)
  if (stored.needsLogin) {
    if (usable) return stored
    throw loginEnded(account)
  }
  if (usable && !isDue(deps, state, stored)) return stored
  if (stored.notBefore && stored.notBefore > now(deps) && (usable || !state.mayTryNow)) {
    if (usable) return stored
    throw refreshPending(account, { until: stored.notBefore })
  }
  const renewal = await renewOnce(deps, state, stored, signal)
  if (renewal.kind === 'refreshed' || renewal.kind === 'newer') return renewal.credentials
  if (isUsable(deps, state, stored)) return stored
  throw pendingError(state, renewal)
}

/**
 * What the vault holds, or held less than `lookMs` ago; calls of one moment share a look. A login that has ended is looked
 * at each time.
 */
async function look(
  deps: RefreshDeps,
  state: SessionState,
  lookMs: number,
): Promise<Credentials | undefined> {
  const at = now(deps).getTime()
  const last = state.look
  const age = last ? at - last.at : Number.NaN
  if (last && age >= 0 && (age < lookMs || (age === 0 && last.pending))) return last.found
  const found = deps.vault.read(state.account.accountId)
  const mine = { at, found, pending: true }
  state.look = mine
  try {
    const credentials = await found
    if ((!credentials || credentials.needsLogin) && state.look === mine) state.look = undefined
    return credentials
  } catch (error) {
    if (state.look === mine) state.look = undefined
    throw error
  } finally {
    mine.pending = false
  }
}

async function replaceRefused(
  deps: RefreshDeps,
  state: SessionState,
  refused: Credentials,
  signal?: AbortSignal,
): Promise<Extract<Renewal, { credentials: Credentials }>> {
  const renewal = await renewOnce(deps, state, refused, signal)
  if (renewal.kind === 'refreshed' || renewal.kind === 'newer') return renewal
  throw pendingError(state, renewal)
}

function pendingError(state: SessionState, renewal: Renewal): Error {
  if (renewal.kind === 'parked') return loginEnded(state.account)
  if (renewal.kind !== 'failed') {
    return refreshPending(state.account, renewal.kind === 'waiting' ? { until: renewal.until } : {})
  }
  return renewal.error instanceof RateLimitedError
    ? renewal.error
    : refreshPending(state.account, { cause: renewal.error })
}

async function giveUp(deps: RefreshDeps, state: SessionState, held: Credentials): Promise<never> {
  const refused = loginEnded(state.account, 'token_refused')
  await parkAccount(deps, { account: state.account, seen: held, reason: refused.message })
  throw refused
}

/** One renewal at a time in this process. It runs on when its callers stop waiting: a rotation must reach the store. */
function renewOnce(
  deps: RefreshDeps,
  state: SessionState,
  seen: Credentials,
  signal?: AbortSignal,
): Promise<Renewal> {
  if (!state.inFlight) {
    const heedPause = !state.mayTryNow
    state.mayTryNow = false
    const renewal = renewTokens(deps, { account: state.account, seen, heedPause })
    state.inFlight = renewal
    const done = (): void => {
      state.inFlight = undefined
      state.look = undefined
    }
    renewal.then(done, done)
  }
  return waitFor(state.inFlight, signal)
}

function isUsable(deps: RefreshDeps, state: SessionState, credentials: Credentials): boolean {
  const { accessToken, expiresAt } = credentials
  return accessToken !== '' && accessToken !== state.refused && expiresAt > now(deps)
}

function isDue(deps: RefreshDeps, state: SessionState, credentials: Credentials): boolean {
  const begun = credentials.obtainedAt.getTime()
  // A row may hold a longer life than is believed today.
  const life = Math.min(credentials.expiresAt.getTime() - begun, MAX_LIFETIME_MS)
  return now(deps).getTime() >= begun + life * state.renewAfter
}

function isMissing(error: unknown): boolean {
  return error instanceof RejectedError && [403, 404, 410].includes(error.status ?? 0)
}

function isUnauthorized(error: unknown): error is RejectedError {
  return error instanceof RejectedError && error.status === 401
}

function now(deps: RefreshDeps): Date {
  return deps.calls.transport.now()
}

/** Waits for a promise that others share; an abort ends the waiting, never the work, and throws the signal's reason. */
async function waitFor<T>(shared: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return shared
  signal.throwIfAborted()
  let stop: () => void = () => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([shared, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
