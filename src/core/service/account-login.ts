import {
  CredentialsRejectedError,
  commandFor,
  errorCode,
  errorLine,
  isAbort,
  RateLimitedError,
  RejectedError,
  TransientError,
} from '../../kit/errors.ts'
import { SECOND, waitFor } from '../../kit/time.ts'
import { assertOrigin, type CallDeps, callOnce, endpointUrl } from './calls.ts'
import type { Credentials, LoginAccount, RiderEvidence } from './credentials.ts'
import type { ServiceRequest } from './http-message.ts'
import {
  isEnded,
  isPaused,
  isSamePair,
  loginEnded,
  type RefreshDeps,
  type RefreshResult,
  recordRefusal,
  refreshPending,
  refreshTokens,
  tokensRefused,
} from './refresh-tokens.ts'
import { badShape, parseJsonObject } from './service-errors.ts'
import { parseActivityList } from './wire/wire-activity.ts'
import { MAX_LIFETIME_MS } from './wire/wire-token.ts'

/** State of an account's login in this process, through which concurrent calls share one refresh. */
export type LoginState = {
  account: LoginAccount
  /** share of the token's life after which the token is refreshed, see refreshAfter */
  refreshAfter: number
  /** an access token that the service rejected with 401 */
  refused?: string | undefined
  /** an access token that one endpoint accepted after another had rejected it */
  accepted?: string
  /** the next refresh ignores the pause after failures, because a person waits for it */
  mayTryNow: boolean
  inFlight?: Promise<RefreshResult> | undefined
  /** the last read of the vault and its start, ms; undefined if the result is known to be outdated */
  lastRead?: { at: number; found: Promise<Credentials | undefined>; pending: boolean } | undefined
}

/** How long requests for activities share one read of the vault, ms. Each read costs a query and a file. */
export const SHARED_READ_MS = SECOND

/**
 * Returns the share of a token's life after which it is refreshed. The share is random, so that accounts do not refresh together. The
 * remaining days give a service outage time to end.
 */
export const refreshAfter = (random: () => number) => 0.5 + 0.1 * random()

/** A request that needs a token, and a request to a second endpoint, which shows whether the second endpoint rejects the token too. */
type TokenCall<T> = {
  send: (accessToken: string) => Promise<T>
  sendElsewhere: (accessToken: string) => Promise<unknown>
}

/** Tokens for a request. Only a `brandNew` pair is certainly current; a pair that another process stored may be outdated too. */
type Held = { held: Credentials; brandNew: boolean }

/** Outcome of a request, and its tokens. `unauthorized` if the request failed with 401, or if checking the rider failed with 401 before the request. */
type Sent<T> =
  | { kind: 'done'; result: T }
  | { kind: 'missing'; error: unknown }
  | { kind: 'unauthorized'; error: RejectedError; held: Credentials }

/**
 * Calls the service with an access token. Refreshes the token first if it is due, and after a 401, and then repeats the call. Reads the vault
 * for each call, because another process may have refreshed the tokens or another rider may have signed in; for an object that only one rider
 * has, a read up to `maxAgeMs` old is enough. Throws CredentialsRejectedError `needs_login` if the login has ended, TransientError
 * `refresh_pending`, and the errors of replaceRefused, assertRider and `send`.
 */
export async function withToken<T>(
  deps: RefreshDeps,
  state: LoginState,
  call: TokenCall<T>,
  { signal, maxAgeMs = 0 }: { signal?: AbortSignal | undefined; maxAgeMs?: number | undefined } = {},
): Promise<T> {
  let tokens = await usableCredentials(deps, state, { signal, maxAgeMs })
  let sent = await sendWith(deps, state, call, { ...tokens, signal })
  if (sent.kind === 'missing' && maxAgeMs > 0) {
    // Another rider, who has this object, may have signed in since the vault was read.
    const latest = await usableCredentials(deps, state, { signal, maxAgeMs: 0 })
    if (latest.held.accessToken === tokens.held.accessToken) throw sent.error
    tokens = latest
    sent = await sendWith(deps, state, call, { ...tokens, signal })
  }
  while (sent.kind === 'unauthorized') {
    tokens = await replaceRefused(deps, state, call, { ...tokens, ...sent, signal })
    sent = await sendWith(deps, state, call, { ...tokens, signal })
  }
  if (sent.kind === 'missing') throw sent.error
  return sent.result
}

/** Checks before their first use that the tokens belong to the rider, then sends the request. */
async function sendWith<T>(
  deps: RefreshDeps,
  state: LoginState,
  call: TokenCall<T>,
  { held: given, signal }: { held: Credentials; signal: AbortSignal | undefined },
): Promise<Sent<T>> {
  let held = given
  try {
    await assertRider(deps, { account: state.account, held, signal })
    if (!held.isRiderCompared) state.lastRead = undefined
    held = { ...held, isRiderCompared: true }
    const result = await call.send(held.accessToken)
    await acceptTokens(deps, state, held)
    return { kind: 'done', result }
  } catch (error) {
    if (isUnauthorized(error)) return { kind: 'unauthorized', error, held }
    if (isMissing(error)) return { kind: 'missing', error }
    throw error
  }
}

/**
 * Returns other tokens after a 401, or throws what the 401 means:
 *
 *     tokens                    another endpoint     result
 *     new, or accepted before   accepts them         RejectedError `refused_here`: the 401 concerns the object
 *     new                       fails otherwise      the 401
 *     new                       refuses them         an outage of the service: TransientError `token_refused`, after a day
 *                                                    CredentialsRejectedError `token_refused`
 *     any other                 not asked            refreshed tokens, or those of another process
 *     refresh fails             accepts them         RejectedError `refused_here`
 *     refresh fails             anything else        the error of the refresh
 *
 * TransientError `rider_pending` replaces `refused_here` and the 401 if the tokens are not compared with the rider yet.
 */
async function replaceRefused(
  deps: RefreshDeps,
  state: LoginState,
  call: Pick<TokenCall<unknown>, 'sendElsewhere'>,
  refused: Held & { error: RejectedError; signal: AbortSignal | undefined },
): Promise<Held> {
  const { held, brandNew, error, signal } = refused
  const { account } = state
  const { accessToken } = held
  const pending = held.isRiderCompared ? undefined : riderPending(account, error)
  // Tokens that another endpoint accepted are not refreshed again for each rejected object.
  if (brandNew || state.accepted === accessToken) {
    const verdict = await tryElsewhere(state, call, { accessToken, signal })
    if (verdict === 'accepted') {
      await acceptTokens(deps, state, held)
      throw pending ?? refusedHere(error)
    }
    if (verdict === 'unclear' && brandNew) throw pending ?? error
  }
  state.refused = accessToken
  state.lastRead = undefined
  if (brandNew) throw await recordRefusal(deps, { account, seen: held })
  try {
    return await renew(deps, state, held, signal)
  } catch (reason) {
    // The pause that the failed refresh has recorded stays.
    const verdict = await tryElsewhere(state, call, { accessToken, signal })
    throw verdict === 'accepted' ? (pending ?? refusedHere(error)) : reason
  }
}

/** Resets the count of rejected tokens. Only logs a failure, because the request succeeded. */
async function acceptTokens(deps: RefreshDeps, state: LoginState, accepted: Credentials): Promise<void> {
  if (accepted.refusals === 0) return
  const { accountId, name: account } = state.account
  state.lastRead = undefined
  const ending = deps.vault.locked(accountId, async ({ credentials, recordState }) => {
    if (!credentials?.refusals || !isSamePair(credentials, accepted)) return
    const none = { refusals: 0, refusedSince: undefined, notBefore: undefined }
    await recordState({ ...none, needsLogin: false, reason: null })
    deps.log.info({ account }, 'the service accepts tokens again')
  })
  await ending.catch((error: unknown) => {
    deps.log.warn(
      { account, code: errorCode(error) },
      'could not record that the service accepts tokens again',
    )
  })
}

/** Checks whether another endpoint accepts a rejected token; returns `unclear` if that request fails for another reason. */
async function tryElsewhere(
  state: LoginState,
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
  state.accepted = accessToken
  if (state.refused === accessToken) state.refused = undefined
  return 'accepted'
}

function refusedHere(error: RejectedError): RejectedError {
  const message = `${error.message}, and accepts it elsewhere: the login is good`
  return new RejectedError('refused_here', message, { status: 401, cause: error })
}

/** Refreshes the token (endpoint 1) if it is due. `fresh`: it was not due, or the refresh failed but the old token still works. */
export async function refreshIfDue(deps: RefreshDeps, state: LoginState, signal?: AbortSignal) {
  const stored = await deps.vault.read(state.account.accountId)
  if (!stored || isEnded(stored)) return 'parked'
  assertOrigin(state.account, stored)
  if (isUsable(deps, state, stored) && !isDue(deps, state, stored)) return 'fresh'
  const result = await refreshOnce(deps, state, stored, signal)
  if (result.kind === 'refreshed' || result.kind === 'parked') return result.kind
  if (result.kind === 'newer' || isUsable(deps, state, stored)) return 'fresh'
  throw pendingError(state, result)
}

async function usableCredentials(
  deps: RefreshDeps,
  state: LoginState,
  { signal, maxAgeMs }: { signal: AbortSignal | undefined; maxAgeMs: number },
): Promise<Held> {
  const { account } = state
  const stored = await readCredentials(deps, state, maxAgeMs)
  if (!stored) throw loginEnded(account)
  assertOrigin(account, stored)
  const usable = isUsable(deps, state, stored)
  const held = { held: stored, brandNew: false }
  if (isEnded(stored)) {
    if (usable) return held
    throw loginEnded(account)
  }
  const mustWait = isPaused(deps, stored) && !state.mayTryNow
  if (stored.refusals > 0 && mustWait) throw tokensRefused(account, stored)
  // During an outage, the rejected token is tried again before a new token is requested.
  if (usable && (stored.refusals > 0 || isPaused(deps, stored) || !isDue(deps, state, stored))) return held
  if (mustWait) throw refreshPending(account, { until: stored.notBefore, needsLogin: stored.needsLogin })
  return renew(deps, state, stored, signal)
}

/** Reads the vault, or returns a result that is at most `maxAgeMs` old; concurrent calls share one read. Never reuses an ended login. */
async function readCredentials(deps: RefreshDeps, state: LoginState, maxAgeMs: number) {
  const at = now(deps).getTime()
  const last = state.lastRead
  const age = last ? at - last.at : Number.NaN
  if (last && age >= 0 && (age < maxAgeMs || (age === 0 && last.pending))) return last.found
  const found = deps.vault.read(state.account.accountId)
  const mine = { at, found, pending: true }
  state.lastRead = mine
  try {
    const credentials = await found
    if ((!credentials || credentials.needsLogin) && state.lastRead === mine) state.lastRead = undefined
    return credentials
  } catch (error) {
    if (state.lastRead === mine) state.lastRead = undefined
    throw error
  } finally {
    mine.pending = false
  }
}

/** Refreshes the tokens; returns the old tokens if the refresh fails and they are still usable. */
async function renew(
  deps: RefreshDeps,
  state: LoginState,
  seen: Credentials,
  signal: AbortSignal | undefined,
): Promise<Held> {
  const result = await refreshOnce(deps, state, seen, signal)
  if ('credentials' in result) return { held: result.credentials, brandNew: result.kind === 'refreshed' }
  if (isUsable(deps, state, seen)) return { held: seen, brandNew: false }
  throw pendingError(state, result)
}

function pendingError({ account }: LoginState, result: Exclude<RefreshResult, { credentials: object }>) {
  if (result.kind === 'parked') return loginEnded(account)
  if (result.kind === 'failed' && result.cause instanceof RateLimitedError) return result.cause
  return refreshPending(account, 'needsLogin' in result ? result : { needsLogin: false })
}

/** Runs one refresh at a time in this process. It continues after its callers stop waiting, because the new pair must be stored. */
function refreshOnce(deps: RefreshDeps, state: LoginState, seen: Credentials, signal?: AbortSignal) {
  if (!state.inFlight) {
    const respectPause = !state.mayTryNow
    state.mayTryNow = false
    const refreshing = refreshTokens(deps, { account: state.account, seen, respectPause })
    state.inFlight = refreshing
    const done = (): void => {
      state.inFlight = undefined
      state.lastRead = undefined
    }
    refreshing.then(done, done)
  }
  return waitFor(state.inFlight, signal)
}

function isUsable(deps: RefreshDeps, state: LoginState, credentials: Credentials): boolean {
  const { accessToken, expiresAt } = credentials
  return accessToken !== '' && accessToken !== state.refused && expiresAt > now(deps)
}

function isDue(deps: RefreshDeps, state: LoginState, credentials: Credentials): boolean {
  if (credentials.failures > 0) return true
  const begun = credentials.obtainedAt.getTime()
  // A row of an earlier version may have a longer life than is accepted now.
  const life = Math.min(credentials.expiresAt.getTime() - begun, MAX_LIFETIME_MS)
  return now(deps).getTime() >= begun + life * state.refreshAfter
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

/**
 * Checks before their first use that tokens belong to their account: the service must list at least one of the account's newest activities
 * (service document, endpoint 9). An account without activities passes. For another rider, parks the account and throws
 * CredentialsRejectedError `other_rider`. Throws TransientError `rider_pending` if the list fails; passes on a 401, a rate limit and an abort.
 */
async function assertRider(
  deps: RefreshDeps,
  { account, held, signal }: { account: LoginAccount; held: Credentials; signal: AbortSignal | undefined },
): Promise<void> {
  if (held.isRiderCompared) return
  const evidence = await deps.vault.findEvidence(account.accountId)
  const list = { ...account, accessToken: held.accessToken, evidence, signal }
  const isSame = await listsOneOf(deps.calls, list).catch((error: unknown) => {
    const is401 = error instanceof RejectedError && error.status === 401
    if (is401 || error instanceof RateLimitedError || isAbort(error, signal)) throw error
    // The caller's request was not sent, so its error must not be thrown.
    throw riderPending(account, error)
  })
  const error = otherRider(account.name, 'nothing was written')
  const reason = isSame ? null : error.message
  await deps.vault.locked(account.accountId, async ({ credentials, recordRider }) => {
    if (credentials && isSamePair(credentials, held)) await recordRider({ isOther: !isSame, reason })
  })
  if (isSame) return
  deps.log.error({ account: account.name }, error.message)
  throw error
}

export type Comparison = { baseUrl: string; queue: string; accessToken: string; evidence: RiderEvidence }

/** Fetches the list once and reports whether it contains one of an account's newest activities; true for an account without activities. */
export async function listsOneOf(
  deps: CallDeps,
  { baseUrl, queue, accessToken, evidence, signal }: Comparison & { signal: AbortSignal | undefined },
): Promise<boolean> {
  if (evidence.paths.length === 0) return true
  const [from = '', to = ''] = [evidence.from, evidence.to].map((at) => String(Math.floor(Number(at) / 1000)))
  const what = 'comparison of the rider'
  const target = { method: 'GET', endpoint: 'GET /oauth/activity', what } as const
  const url = endpointUrl(baseUrl, '/oauth/activity', { from, to })
  const { tokenMs: totalMs } = deps.transport.options.timeouts
  const request: ServiceRequest = { ...target, url, authorization: `Bearer ${accessToken}`, totalMs }
  const parsed = parseActivityList(parseJsonObject(await callOnce(deps, { request, queue }, signal), what))
  if (!parsed.ok) throw badShape(what, parsed.reason)
  return parsed.value.entries.some(({ path }) => evidence.paths.includes(path))
}

/** Makes the error for an account whose tokens could not be checked against its activities. */
function riderPending(account: { name: string }, cause: unknown): TransientError {
  const text = `could not check whose tokens account "${account.name}" has (${errorLine(cause)}); musette retries by itself`
  return new TransientError('rider_pending', text, { cause })
}

/** Makes the error for signing in another rider than the account's activities belong to. */
export function otherRider(account: string, done: string): CredentialsRejectedError {
  const login = commandFor('login', account)
  const text = `account "${account}" has activities of another rider than this login, and ${done}; to use a separate account, run: musette login NAME --username …, with a new NAME; to sign in the rider of these activities, run: ${login}, and with --same-rider if both are the same rider`
  return new CredentialsRejectedError('other_rider', text)
}
