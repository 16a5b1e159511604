import {
  CredentialsRejectedError,
  commandFor,
  errorLine,
  isAbort,
  RateLimitedError,
  RejectedError,
  TransientError,
} from '../kit/errors.ts'
import { type CallDeps, callOnce, endpointUrl } from './calls.ts'
import type { Credentials, LoginAccount, RiderEvidence } from './credentials.ts'
import type { ServiceRequest } from './http-message.ts'
import { isSamePair, type RefreshDeps } from './refresh-tokens.ts'
import { badShape, parseJsonObject } from './service-errors.ts'
import { parseActivityList } from './wire/wire-activity.ts'

/**
 * Compares tokens with their account before their first use: the service must list at least one of the account's newest activities (service
 * document, endpoint 9). An account without activities passes. For another rider it parks the account and throws CredentialsRejectedError
 * `other_rider`. Throws TransientError `rider_pending` when the list cannot be fetched, and passes on a 401, a rate limit and an abort.
 */
export async function assertRider(
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
  const error = otherRider(account.name, 'nothing of it was written')
  const reason = isSame ? null : error.message
  await deps.vault.locked(account.accountId, async ({ credentials, recordRider }) => {
    if (credentials && isSamePair(credentials, held)) await recordRider({ isOther: !isSame, reason })
  })
  if (isSame) return
  deps.log.error({ account: account.name }, error.message)
  throw error
}

export type Comparison = { baseUrl: string; queue: string; accessToken: string; evidence: RiderEvidence }

/** Requests the list once and tells whether it contains one of an account's newest activities; true for an account without any. */
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

/** Makes the error of an account whose tokens could not be compared with it. */
export function riderPending(account: { name: string }, cause: unknown): TransientError {
  const text = `the tokens of account "${account.name}" could not be compared with it (${errorLine(cause)}); the next attempt comes by itself`
  return new TransientError('rider_pending', text, { cause })
}

/** Makes the error of a login as another rider than the one of the account's activities. */
export function otherRider(account: string, done: string): CredentialsRejectedError {
  const login = commandFor('login', account)
  const text = `account "${account}" has the activities of another rider than this login, and ${done}; for an account of its own run: musette login NAME --username …, with a new NAME; for the rider of these activities run: ${login}, and with --same-rider if it is the same one after all`
  return new CredentialsRejectedError('other_rider', text)
}
