import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import { isServiceDown } from '../../kit/errors.ts'
import { makeAgent, type Proxies } from '../../kit/http-agent.ts'
import { makeLogOnce } from '../../kit/log-once.ts'
import { type Hold, makeSemaphore } from '../../kit/semaphore.ts'
import { quoteName } from '../../kit/text.ts'
import { type Clock, type Sleep, systemClock, sleep as systemSleep } from '../../kit/time.ts'
import {
  type Comparison,
  type LoginState,
  listsOneOf,
  refreshAfter,
  refreshIfDue,
  SHARED_READ_MS,
  withToken,
} from './account-login.ts'
import { type CallDeps, callOnce, callRead, endpointUrl, fileUrl, objectUrl } from './calls.ts'
import type { LoginAccount, TokenVault } from './credentials.ts'
import {
  DEFAULT_MAX_BODY_BYTES,
  DEFAULT_TIMEOUTS,
  type Endpoint,
  type RawAnswer,
  type ServiceRequest,
  type Timeouts,
} from './http-message.ts'
import { listInParts, type Window } from './list-in-parts.ts'
import { makePacer, type OnPause, type SharedPace } from './pacer.ts'
import type { RefreshDeps } from './refresh-tokens.ts'
import {
  type AnswerContent,
  badShape,
  parseFileText,
  parseJsonObject,
  quoteRefusal,
} from './service-errors.ts'
import {
  type Application,
  authorizeUrl,
  type ClientCredentials,
  fetchAuthorizeRefusal,
  type Grant,
  requestLogin,
} from './token-grants.ts'
import type { OnAnswer } from './transport.ts'
import type { Parsed, WithDrift } from './wire/lenient.ts'
import { scanSamples, seekMember } from './wire/scan-samples.ts'
import { parseActivity, parseActivityList, type WireActivity } from './wire/wire-activity.ts'
import { encodeUpload, parseUpload, type UploadFile, type WireUpload } from './wire/wire-upload.ts'
import { parseTrainingInfo, parseWorkout, parseWorkoutList } from './wire/wire-workouts.ts'

export { parseUploadedPath } from './wire/wire-upload.ts'

export type ServiceObserver = { onAnswer: OnAnswer; onPause: OnPause }

export type Service = ReturnType<typeof openService>

export type ServiceOptions = {
  /** concurrent requests of all accounts together */
  concurrency: number
  /** maximum requests in any 60 s, of all accounts together */
  requestsPerMinute: number
  /** longest rate-limit pause that a call waits for, ms; a longer pause throws RateLimitedError. Default: no limit */
  longestPauseMs?: number | undefined
  userAgent: string
  /** the HTTP proxies for the service; undefined: none */
  proxies?: Proxies | undefined
  /** a person waits: the first refresh ignores the pause after a failure */
  byHand?: boolean | undefined
  timeouts?: Partial<Timeouts>
  /** maximum response size after decompression, bytes; default 60 MB */
  maxBodyBytes?: number
}

/** Opens the client of the service, with one pacer for all accounts. The caller must close a `dispatcher` that it passes in. */
export function openService(
  deps: {
    vault: TokenVault
    log: Logger
    now?: Clock
    sleep?: Sleep | undefined
    random?: () => number
    dispatcher?: Dispatcher
    /** called for every request and every rate limit, for metrics */
    observer?: ServiceObserver | undefined
    /** the pace that this process shares with other processes; if undefined, this process has its own pace */
    sharedPace?: SharedPace
  },
  options: ServiceOptions,
) {
  const { vault, log, now = systemClock, sleep = systemSleep, random = Math.random } = deps
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  const connections = openConnections(timeouts, options.proxies, deps.dispatcher)
  const pacer = makePacer(
    { now, sleep, log, onPause: deps.observer?.onPause, shared: deps.sharedPace },
    options,
  )
  const maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  // A person who waits for a command sees the error itself.
  const watch = options.byHand ? undefined : watchOutages(log)
  const onAnswer: OnAnswer = (end) => {
    watch?.(end)
    deps.observer?.onAnswer(end)
  }
  const transport = {
    dispatchers: connections,
    now,
    large: { read: makeSemaphore(1), held: makeSemaphore(1) },
    options: { timeouts, maxBodyBytes, userAgent: options.userAgent },
    onAnswer,
  }
  const calls: CallDeps = { transport, pacer, sleep, random }
  const logins = new Map<string, LoginState>()

  const runLogin = <T>({ baseUrl }: { baseUrl: string }, work: () => Promise<T>, signal?: AbortSignal) =>
    pacer.run({ queue: 'login', origin: new URL(baseUrl).origin }, work, signal)

  return {
    /** Returns the endpoints that need an account's token. Repeated calls for one account share its login. */
    forAccount({ accountId, name, baseUrl }: Omit<LoginAccount, 'queue'>): AccountService {
      const key = JSON.stringify([accountId, name, baseUrl])
      const queue = String(accountId)
      const account = { accountId, name, baseUrl, queue }
      const fresh = { account, refreshAfter: refreshAfter(random), mayTryNow: options.byHand ?? false }
      const state: LoginState = logins.get(key) ?? fresh
      logins.set(key, state)
      return accountService({ calls, vault, log }, state)
    },
    /** Requests a token pair and stores nothing (service document, endpoint 1). */
    requestLogin: (client: ClientCredentials, grant: Grant, signal?: AbortSignal) =>
      runLogin(client, () => requestLogin(calls, { client, grant }, signal), signal),
    authorizeUrl,
    /** Requests the login page; returns the reason if the service refuses to start a login (endpoint 2). */
    fetchAuthorizeRefusal: (client: Application, input: { redirectUri: string }, signal?: AbortSignal) =>
      runLogin(client, () => fetchAuthorizeRefusal(calls, { client, ...input }, signal), signal),
    /** See listsOneOf. */
    listsOneOf: (input: Omit<Comparison, 'queue'>, signal?: AbortSignal) =>
      listsOneOf(calls, { ...input, queue: 'login', signal }),
    /** Lists the default workouts, without a token (service document, endpoint 5). */
    async listDefaultWorkouts(baseUrl: string, signal?: AbortSignal) {
      const [endpoint, what] = ['GET /oauth/workout', 'default workouts'] as const
      const target = { endpoint, what, url: endpointUrl(baseUrl, '/oauth/workout'), authorization: undefined }
      const answer = await callRead(calls, { request: { ...target, method: 'GET' }, queue: what }, signal)
      return makeAnswer(answer, jsonBy(parseWorkoutList)(answer, what))
    },
    /** Rejects new calls, waits for a token refresh in progress, then closes every connection. */
    async close() {
      const paced = pacer.close(new DOMException('the client of the service is closed', 'AbortError'))
      await Promise.allSettled([...logins.values()].map((state) => state.inFlight))
      await paced
      await connections.close()
    },
  }
}

function openConnections(
  { connectMs }: Timeouts,
  proxies: Proxies | undefined,
  handedIn: Dispatcher | undefined,
) {
  if (handedIn) return { get: handedIn, post: handedIn, close: async () => undefined }
  const get = makeAgent(proxies, { connectMs })
  // Each POST gets a new connection, because the service may just have closed an idle one, and a token or an upload would be lost on it.
  const post = makeAgent(proxies, { connectMs, pipelining: 0 })
  return {
    get,
    post,
    async close() {
      await Promise.all([get.destroy(), post.destroy()])
    },
  }
}

/**
 * A parsed response: its decoded bytes (and the gzipped bytes, if it came in gzip), the time of the request by our clock, and the time of the
 * response by the service's clock (undefined without a Date header).
 */
export type Answer<T> = {
  value: T
  body: Buffer
  gzipped?: Buffer | undefined
  requestedAt: Date
  serviceTime: Date | undefined
}

type FixedEndpoint = 'GET /oauth/activity' | 'GET /oauth/training_info' | 'GET /oauth/workouts'

/** Maximum characters of an object's name in a message. */

export type AccountService = ReturnType<typeof accountService>

/** Makes the endpoints that need a rider's token, for one account. Every call is paced and may throw every kind of error. */
function accountService(deps: RefreshDeps, state: LoginState) {
  const { baseUrl, queue } = state.account

  const fixed = (endpoint: FixedEndpoint, what: string, query: Record<string, string> = {}) => {
    return { endpoint, what, url: endpointUrl(baseUrl, endpoint.slice('GET '.length), query) }
  }
  const sendElsewhere = (endpoint: Endpoint, signal: AbortSignal | undefined) => async (token: string) => {
    const isInfo = endpoint === 'GET /oauth/training_info'
    const target = fixed(isInfo ? 'GET /oauth/workouts' : 'GET /oauth/training_info', 'check of the login')
    const request: ServiceRequest = { ...target, method: 'GET', authorization: `Bearer ${token}` }
    parseJsonObject(await callRead(deps.calls, { request, queue }, signal), target.what)
  }

  const read = <T>(
    target: Pick<ServiceRequest, 'endpoint' | 'url' | 'what' | 'hasSamples' | 'hold'>,
    interpret: (answer: RawAnswer, what: string) => T,
    signal: AbortSignal | undefined,
    maxAgeMs?: number,
  ): Promise<Answer<T>> =>
    withToken(
      deps,
      state,
      {
        send: async (token) => {
          const request: ServiceRequest = { ...target, method: 'GET', authorization: `Bearer ${token}` }
          const answer = await callRead(deps.calls, { request, queue }, signal)
          return makeAnswer(answer, interpret(answer, target.what))
        },
        sendElsewhere: sendElsewhere(target.endpoint, signal),
      },
      { signal, maxAgeMs },
    )

  return {
    /** Lists activities started in `from` to `to`; with `updatedFrom`, only activities changed since then (endpoint 9). `unlisted`: see listInParts. */
    async listActivities(input: Window & { updatedFrom?: Date; unlisted?: Window[] }, signal?: AbortSignal) {
      const { from, to, updatedFrom, unlisted } = input
      const request = (part: Window) => {
        const query = {
          from: unixSeconds(part.from, Math.floor),
          to: unixSeconds(part.to, Math.ceil),
          ...(updatedFrom && { updated_from: unixSeconds(updatedFrom, Math.floor) }),
        }
        return read(fixed('GET /oauth/activity', 'activity list', query), jsonBy(parseActivityList), signal)
      }
      return listInParts(request, { window: { from, to }, unlisted, now: deps.calls.transport.now() })
    },
    /** Fetches one activity, and its samples if `samples` (endpoint 8). No other caller gets a large response until `hold` is released. */
    async fetchActivity(
      path: string,
      input: { samples: boolean; hold?: Hold | undefined },
      signal?: AbortSignal,
    ) {
      const query = { include_session_data: input.samples ? '1' : '0' }
      const url = objectUrl(baseUrl, '/oauth/activity', path, query)
      const what = `activity ${quoteName(path)}`
      const { samples: hasSamples, hold } = input
      const target = { endpoint: 'GET /oauth/activity/<id>', url, what, hasSamples, hold } as const
      return read(target, readActivity, signal, SHARED_READ_MS)
    },
    /** Fetches signature, status, loads and the workout of the day (endpoint 3). */
    async fetchTrainingInfo(input: { format?: 'erg' | 'zwo' }, signal?: AbortSignal) {
      const target = fixed('GET /oauth/training_info', 'training info', { ...input })
      return read(target, jsonBy(parseTrainingInfo), signal)
    },
    /** Downloads a workout file as text, only from the service's own origin (endpoint 4). */
    async downloadWorkout(address: string, signal?: AbortSignal) {
      const what = 'file of the workout of the day'
      const url = fileUrl(baseUrl, address, what)
      const endpoint = 'GET /oauth/workout-download/<workout_id>.<ext>'
      return read({ endpoint, url, what }, parseFileText, signal)
    },
    /** Lists the rider's workouts (endpoint 6). */
    async listWorkouts(signal?: AbortSignal) {
      return read(fixed('GET /oauth/workouts', 'workout list'), jsonBy(parseWorkoutList), signal)
    },
    /** Fetches a workout resolved for the rider's signature (endpoint 7). */
    async fetchWorkout(path: string, signal?: AbortSignal) {
      const url = objectUrl(baseUrl, '/oauth/workout', path)
      const what = `workout ${quoteName(path)}`
      return read({ endpoint: 'GET /oauth/workout/<path>', url, what }, jsonBy(parseWorkout), signal)
    },
    /** Uploads a FIT file once, without a retry (endpoint 10). TransientError.requestSent says whether it may have arrived. */
    async uploadFit(file: UploadFile, signal?: AbortSignal) {
      const what = `upload of ${quoteName(file.fileName)}`
      const endpoint = 'POST /oauth/upload'
      const url = endpointUrl(baseUrl, '/oauth/upload')
      const send = async (token: string): Promise<Answer<WireUpload>> => {
        const body = await encodeUpload(file)
        const authorization = `Bearer ${token}`
        const request: ServiceRequest = { method: 'POST', endpoint, url, what, authorization, body }
        const answer = await callOnce(deps.calls, { request, queue }, signal)
        const words = quoteRefusal(answer, authorization)
        return makeAnswer(answer, jsonBy(parseUpload, words)(answer, what))
      }
      return withToken(deps, state, { send, sendElsewhere: sendElsewhere(endpoint, signal) }, { signal })
    },
    /** Refreshes the token if more than half of its life has passed. */
    refreshTokenIfDue: (signal?: AbortSignal) => refreshIfDue(deps, state, signal),
  }
}

function jsonBy<T>(parse: (wire: Record<string, unknown>) => Parsed<T>, words = '') {
  return (answer: RawAnswer, what: string): T & WithDrift =>
    parsedOrThrow(parse(parseJsonObject(answer, what, words)), what)
}

function makeAnswer<T>(answer: RawAnswer, value: T): Answer<T> {
  const { body, gzipped, requestedAt, serviceTime } = answer
  return { value, body, gzipped, requestedAt, serviceTime }
}

function unixSeconds(moment: Date, round: (seconds: number) => number): string {
  return String(round(moment.getTime() / 1000))
}

/**
 * Reads a response of endpoint 8 (service document, "Activity detail"), new or stored. Samples, nearly all of the response, are read from the
 * bytes into columns, and the rest as JSON; if the samples are not flat objects, JSON.parse reads everything. Throws parseJsonObject's errors,
 * and UnexpectedResponseError `bad_shape`.
 */
export function readActivity(answer: AnswerContent, what: string): WireActivity & WithDrift {
  const { body } = answer
  const start = seekMember(body, 'session_data')
  const scanned = start === undefined ? undefined : scanSamples(body, start)
  if (start !== undefined && scanned) {
    const rest = Buffer.concat([body.subarray(0, start), Buffer.from('null'), body.subarray(scanned.end)])
    const wire = parseJsonObject({ ...answer, body: rest }, what)
    // JSON.parse keeps the last of two members with the same name.
    if (wire.session_data === null) return parsedOrThrow(parseActivity(wire, scanned.data), what)
  }
  return parsedOrThrow(parseActivity(parseJsonObject(answer, what)), what)
}

function parsedOrThrow<T>(parsed: Parsed<T>, what: string): T & WithDrift {
  if (!parsed.ok) throw badShape(what, parsed.reason)
  return { ...parsed.value, drift: parsed.drift }
}

/** Consecutive 5xx failures that count as an outage: the service sends a 5xx for some valid objects. */
const OUTAGE_AFTER = 5

/** Makes the observer that logs once when a service stops answering and once when it answers again, for all callers. */
function watchOutages(log: Logger): OnAnswer {
  const problems = makeLogOnce(log)
  const failed = new Map<string, number>()
  return ({ origin, status = 0, failure }) => {
    if (failure === 'aborted') return
    const isUnreachable = failure !== undefined && isServiceDown({ code: failure })
    if (!isUnreachable && status < 500) {
      failed.delete(origin)
      problems.over(origin)
      return
    }
    const times = (failed.get(origin) ?? 0) + 1
    failed.set(origin, times)
    if (!isUnreachable && times < OUTAGE_AFTER) return
    const sentence = `the service at ${origin} does not answer; musette retries requests by itself`
    problems.say('warn', origin, sentence, { reason: failure ?? `status ${status}` })
  }
}
