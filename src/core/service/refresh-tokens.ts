import type { Logger } from 'pino'
import {
  CredentialsRejectedError,
  commandFor,
  errorCode,
  errorLine,
  isServiceDown,
  RateLimitedError,
  RejectedError,
  TransientError,
} from '../../kit/errors.ts'
import { type Backoff, backoffMs, DAY, HOUR, SECOND } from '../../kit/time.ts'
import { assertOrigin, type CallDeps } from './calls.ts'
import type { Credentials, HeldCredentials, LoginAccount, TokenPair, TokenVault } from './credentials.ts'
import { MAX_RETRY_AFTER_MS } from './http-message.ts'
import { badShape } from './service-errors.ts'
import { type Grant, requestTokens } from './token-grants.ts'

export type RefreshDeps = { calls: CallDeps; vault: TokenVault; log: Logger }

export type RefreshResult =
  | { kind: 'refreshed'; credentials: Credentials }
  /** another process had already stored a newer pair */
  | { kind: 'newer'; credentials: Credentials }
  | { kind: 'parked' }
  | { kind: 'waiting'; until: Date | undefined; needsLogin: boolean }
  | { kind: 'failed'; cause: unknown; needsLogin: boolean }

/** Backoff after a refresh that failed without a clear refusal. Half of the token's life, several days, remains for retries. */
const REFRESH_BACKOFF: Backoff = { firstMs: 30 * SECOND, maxMs: 6 * HOUR, factor: 3 }

/**
 * Refreshes an account's tokens (service document, endpoint 1) under the account's lock: reads the tokens again, and requests a new pair only
 * if they still equal `seen`. After `invalid_grant`, tries a stored password once, otherwise parks the account. Records any other failure with
 * a growing pause, during which nothing is requested unless `respectPause` is false. Refusals without a reason ask for a login after a day.
 * Stores a new pair before it is used.
 */
export async function refreshTokens(
  deps: RefreshDeps,
  input: { account: LoginAccount; seen: Credentials; respectPause: boolean },
): Promise<RefreshResult> {
  const { account, seen, respectPause } = input
  const call = { queue: account.queue, origin: new URL(account.baseUrl).origin }
  // The pacer comes before the lock: a process that waits for a pause must not hold the lock.
  return deps.calls.pacer.run(call, () =>
    deps.vault.locked(account.accountId, async (held): Promise<RefreshResult> => {
      const stored = held.credentials
      if (!stored) return { kind: 'parked' }
      assertOrigin(account, stored)
      if (!isSamePair(stored, seen)) return { kind: 'newer', credentials: stored }
      if (isEnded(stored)) return { kind: 'parked' }
      if (respectPause && isPaused(deps, stored))
        return { kind: 'waiting', until: stored.notBefore, needsLogin: stored.needsLogin }
      return attempt(deps, account, { ...held, credentials: stored })
    }),
  )
}

/** Backoff while the service rejects new tokens, in an outage of seconds or days. A rejected refresh has REFRESH_BACKOFF. */
const REFUSAL_BACKOFF: Backoff = { firstMs: 30 * SECOND, maxMs: HOUR, factor: 3 }
/** Duration of an outage before it is reported, ms; see findAccountStatuses. */
const WARN_AFTER_MS = HOUR
/** A person is asked to sign in after MIN_REFUSALS rejections over at least PARK_AFTER_MS. Further attempts follow, because the outage may end. */
const MIN_REFUSALS = 3
const PARK_AFTER_MS = DAY

/** Reports whether a login has ended for good. Rejections without a reason do not end it, even after a person was asked to sign in. */
export function isEnded({ needsLogin, refusedSince }: Credentials): boolean {
  return needsLogin && refusedSince === undefined
}

/** Returns the time since which the service rejects an account without a reason, and whether a person must sign in. */
function judgeRefusals({ refusedSince: since, needsLogin }: Credentials, now: Date, refusals: number) {
  const refusedSince = since && since < now ? since : now
  const lastedMs = now.getTime() - refusedSince.getTime()
  const isLasting = refusals >= MIN_REFUSALS && lastedMs >= PARK_AFTER_MS
  return { refusedSince, lastedMs, needsLogin: needsLogin || isLasting }
}

/** Reports whether a refresh was refused so that a new login may help. */
function isRefusal(error: unknown): boolean {
  return error instanceof RejectedError && [400, 401, 403].includes(error.status ?? 0)
}

/** Reports whether the next attempt must wait. A pause of more than a day comes from a wrong clock and is ignored. */
export function isPaused(deps: RefreshDeps, { notBefore }: Credentials): boolean {
  const leftMs = notBefore ? notBefore.getTime() - deps.calls.transport.now().getTime() : 0
  return leftMs > 0 && leftMs <= MAX_RETRY_AFTER_MS
}

/** Counts a rejected new token, once for all callers, and returns the error for them. */
export async function recordRefusal(
  deps: RefreshDeps,
  { account, seen }: { account: LoginAccount; seen: Credentials },
): Promise<CredentialsRejectedError | TransientError> {
  const { transport, random } = deps.calls
  return deps.vault.locked(account.accountId, async (held) => {
    const stored = held.credentials
    if (!stored || isEnded(stored)) return loginEnded(account)
    if (!isSamePair(stored, seen) || stored.refusals !== seen.refusals) return tokensRefused(account, stored)
    const now = transport.now()
    const refusals = stored.refusals + 1
    const { refusedSince, lastedMs, needsLogin } = judgeRefusals(stored, now, refusals)
    const notBefore = new Date(now.getTime() + backoffMs(REFUSAL_BACKOFF, refusals, random))
    const error = tokensRefused(account, { needsLogin, refusedSince, notBefore })
    const isLong = lastedMs >= WARN_AFTER_MS
    const reason = isLong ? error.message : null
    await held.recordState({ refusals, refusedSince, needsLogin, notBefore, reason })
    deps.log[isLong ? 'error' : 'warn']({ account: account.name, refusals }, error.message)
    return error
  })
}

/** Makes the error for an account whose new tokens the service rejects. */
export function tokensRefused(
  account: { name: string },
  state: Pick<Credentials, 'needsLogin' | 'refusedSince' | 'notBefore'>,
): CredentialsRejectedError | TransientError {
  const since = state.refusedSince ? `, since ${state.refusedSince.toISOString()}` : ''
  const next = state.notBefore ? ` after ${state.notBefore.toISOString()}` : ''
  const text = `the service refuses the new tokens of account "${account.name}" that it has just issued${since}; musette retries by itself${next}`
  if (!state.needsLogin) return new TransientError('token_refused', text)
  const withCommand = `${text}; if the service works otherwise, run: ${commandFor('login', account.name)}`
  return new CredentialsRejectedError('token_refused', withCommand)
}

type Held = HeldCredentials & { credentials: Credentials }

async function attempt(deps: RefreshDeps, account: LoginAccount, held: Held): Promise<RefreshResult> {
  const { refreshToken, username, password } = held.credentials
  const grants: Grant[] = [{ type: 'refresh_token', refreshToken }]
  if (username !== undefined && password !== undefined) grants.push({ type: 'password', username, password })
  for (const grant of grants) {
    try {
      return await grantAndSave(deps, account, held, grant)
    } catch (error) {
      if (!(error instanceof CredentialsRejectedError)) return fail(deps, account, held, error)
    }
  }
  return park(deps, account, held)
}

async function grantAndSave(deps: RefreshDeps, account: LoginAccount, held: Held, grant: Grant) {
  const { clientId, clientSecret, accessToken, expiresAt, failures } = held.credentials
  const client = { baseUrl: account.baseUrl, clientId, clientSecret }
  const request = async (grant: Grant): Promise<TokenPair> => {
    const pair = await requestTokens(deps.calls, { client, grant })
    // The pair in the spool wins if it is newer than the row's, whose time may come from a clock that was set back.
    const earliest = held.credentials.obtainedAt.getTime() + 1
    return { ...pair, obtainedAt: new Date(Math.max(pair.obtainedAt.getTime(), earliest)) }
  }
  let pair = await request(grant)
  for (let isSecond = false; pair.accessToken === ''; isSecond = true) {
    // The old refresh token is used up, so the new token is stored first. The old access token stays usable until it expires.
    await held.save({ ...pair, accessToken, expiresAt }, failures)
    if (isSecond) throw badShape('renewing the login', 'the answer has no usable access token')
    pair = await request({ type: 'refresh_token', refreshToken: pair.refreshToken })
  }
  await held.save(pair)
  deps.log.info({ account: account.name, grant: grant.type, expires_at: pair.expiresAt }, 'new tokens stored')
  const { refusals, refusedSince } = held.credentials
  const fresh = { ...pair, needsLogin: false, failures: 0, notBefore: undefined }
  const since = refusals > 0 ? refusedSince : undefined
  return { kind: 'refreshed' as const, credentials: { ...held.credentials, ...fresh, refusedSince: since } }
}

async function park(deps: RefreshDeps, account: LoginAccount, held: Held): Promise<RefreshResult> {
  const { message } = loginEnded(account)
  await held.park(message)
  deps.log.error({ account: account.name }, message)
  return { kind: 'parked' }
}

async function fail(deps: RefreshDeps, account: LoginAccount, held: Held, error: unknown) {
  const { transport, random } = deps.calls
  const stated = error instanceof RateLimitedError ? error.retryAfterMs : undefined
  const { failures, refusals } = held.credentials
  const now = transport.now()
  const notBefore = new Date(now.getTime() + (stated ?? backoffMs(REFRESH_BACKOFF, failures + 1, random)))
  const code = errorCode(error)
  const judged = isRefusal(error) && judgeRefusals(held.credentials, now, refusals + failures + 1)
  const { needsLogin, refusedSince } = judged || held.credentials
  const reason = needsLogin
    ? refreshPending(account, { cause: error, until: notBefore, needsLogin }).message
    : `tokens could not be refreshed (${code})`
  await held.recordState({ failures: failures + 1, notBefore, reason, needsLogin, refusedSince })
  const level = isServiceDown(error) ? 'debug' : 'warn'
  deps.log[level]({ account: account.name, code, not_before: notBefore }, 'tokens could not be refreshed')
  return { kind: 'failed' as const, cause: error, needsLogin }
}

export function isSamePair(a: Credentials, b: Credentials): boolean {
  return a.accessToken === b.accessToken && a.obtainedAt.getTime() === b.obtainedAt.getTime()
}

/** Makes the error for an account that only a person can sign in again, with the command for it. */
export function loginEnded(account: { name: string }) {
  return new CredentialsRejectedError(
    'needs_login',
    `login of account "${account.name}" has ended; run: ${commandFor('login', account.name)}`,
  )
}

/** Makes the error for an account without a usable token, because a refresh failed (`cause`) or must wait (`until`). */
export function refreshPending(
  account: { name: string },
  { cause, until, needsLogin }: { cause?: unknown; until?: Date | undefined; needsLogin: boolean },
): CredentialsRejectedError | TransientError {
  const reason = cause === undefined ? '' : ` (${errorLine(cause)})`
  const next = until ? `; musette retries by itself after ${until.toISOString()}` : ''
  const text = `the tokens of account "${account.name}" could not be refreshed${reason}${next}`
  const options = cause === undefined ? {} : { cause }
  if (!needsLogin) return new TransientError('refresh_pending', text, options)
  const withCommand = `${text}; run: ${commandFor('login', account.name)}`
  return new CredentialsRejectedError('refresh_refused', withCommand, options)
}
