import { SECOND } from '../../kit/durations.ts'
import { RateLimitedError, RejectedError } from '../../kit/errors.ts'
import { MAX_LIFETIME_MS } from '../wire/token.ts'
import { assertOrigin, loginEnded, refreshPending, type SessionAccount } from './account.ts'
import { parkAccount, type RefreshDeps, type Renewal, renewTokens } from './refresh.ts'
import type { Credentials } from './vault.ts'
import { waitFor } from './wait-for.ts'

/** What one process remembers of an account's session; two calls share one refresh through it. */
export type SessionState = {
  account: SessionAccount
  /** the share of a token's life after which it is renewed; drawn once, so that accounts do not come together */
  renewAfter: number
  /** an access token that the service answered with 401 */
  refused: string | undefined
  inFlight: Promise<Renewal> | undefined
  /** the last look at the vault and when it was begun (ms); none when what it found is no longer so */
  look: { at: number; found: Promise<Credentials | undefined>; pending: boolean } | undefined
}

/** A token is renewed between half and six tenths of its life: days remain for an outage of the service to pass. */
const RENEW_AFTER = 0.5
const RENEW_JITTER = 0.1
/** Long enough for fifty rides of a backfill to share a look at the vault, which is a query and a file. */
export const RECENT_MS = SECOND

/** Makes the memory of an account's session. */
export function makeSessionState(account: SessionAccount, random: () => number): SessionState {
  return {
    account,
    renewAfter: RENEW_AFTER + RENEW_JITTER * random(),
    refused: undefined,
    inFlight: undefined,
    look: undefined,
  }
}

/**
 * Calls the service with an access token. Renews the token beforehand when it is past half its life, and at once on a
 * 401, after which the call is repeated once. The vault is looked at each time, because a sibling process may have renewed
 * the pair or another rider signed in, unless a look `lookMs` old will do: for an object that only one rider has. Throws
 * CredentialsRejectedError when the login has ended (`needs_login`) or a brand-new token was refused (`token_refused`),
 * TransientError `refresh_pending`, and whatever `send` throws.
 */
export async function withToken<T>(
  deps: RefreshDeps,
  state: SessionState,
  send: (accessToken: string) => Promise<T>,
  options: { signal?: AbortSignal | undefined; lookMs?: number | undefined } = {},
): Promise<T> {
  const { signal } = options
  let { lookMs = 0 } = options
  let held = await usableCredentials(deps, state, { signal, lookMs })
  for (let brandNew = false; ; ) {
    try {
      return await send(held.accessToken)
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
      state.refused = held.accessToken
      state.look = undefined
      if (brandNew) return await giveUp(deps, state, held)
      const renewal = await replaceRefused(deps, state, held, signal)
      held = renewal.credentials
      // A pair that a sibling had stored may be old as well; only one that was just made ends the attempts.
      brandNew = renewal.kind === 'refreshed'
    }
  }
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
  if (stored.notBefore && stored.notBefore > now(deps)) {
    if (usable) return stored
    throw refreshPending(account)
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
  if (renewal.kind !== 'failed') return refreshPending(state.account)
  return renewal.error instanceof RateLimitedError
    ? renewal.error
    : refreshPending(state.account, renewal.error)
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
    const renewal = renewTokens(deps, { account: state.account, seen })
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

function isUnauthorized(error: unknown): boolean {
  return error instanceof RejectedError && error.status === 401
}

function now(deps: RefreshDeps): Date {
  return deps.calls.transport.now()
}
