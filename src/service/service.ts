import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import { makeAgent, type Proxies } from '../kit/http-agent.ts'
import { makeSemaphore } from '../kit/semaphore.ts'
import { type Clock, type Sleep, systemClock, sleep as systemSleep } from '../kit/time.ts'
import { type LoginState, makeLoginState } from './account-login.ts'
import { type Comparison, listsOneOf } from './assert-rider.ts'
import type { CallDeps } from './calls.ts'
import type { LoginAccount, TokenVault } from './credentials.ts'
import { type AccountService, listDefaultWorkouts, makeAccountService } from './endpoints.ts'
import { DEFAULT_MAX_BODY_BYTES, DEFAULT_TIMEOUTS, type Timeouts } from './http-message.ts'
import { makePacer, type OnPause } from './pacer.ts'
import {
  type Application,
  type ClientCredentials,
  fetchAuthorizeRefusal,
  type Grant,
  makeAuthorizeUrl,
  requestLogin,
} from './token-grants.ts'
import type { OnAnswer } from './transport.ts'

export type { AccountService, Answer } from './endpoints.ts'
export { parseUploadedPath } from './wire/wire-upload.ts'

export type ServiceObserver = { onAnswer: OnAnswer; onPause: OnPause }

export type Service = ReturnType<typeof openService>

export type ServiceOptions = {
  /** requests at a time, over all accounts */
  concurrency: number
  /** requests in any 60 s, over all accounts */
  requestsPerMinute: number
  /** longest pause of a rate limit, in ms, that a call waits for; a longer one throws RateLimitedError. Default: no limit */
  longestPauseMs?: number | undefined
  userAgent: string
  /** the HTTP proxies towards the service; undefined: none */
  proxies?: Proxies | undefined
  /** a person waits: the first refresh ignores the pause after a failure */
  byHand?: boolean
  timeouts?: Partial<Timeouts>
  /** the largest answer that is read, after decompression; 60 MB */
  maxBodyBytes?: number
}

/** Opens the client of the service, with one pacer for all calls of all accounts. The caller closes its own `dispatcher`. */
export function openService(
  deps: {
    vault: TokenVault
    log: Logger
    now?: Clock
    sleep?: Sleep
    random?: () => number
    dispatcher?: Dispatcher
    /** called for every request and every rate limit, for metrics */
    observer?: ServiceObserver | undefined
  },
  options: ServiceOptions,
) {
  const { vault, log, now = systemClock, sleep = systemSleep, random = Math.random } = deps
  const { byHand = false } = options
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  const connections = openConnections(timeouts, options.proxies, deps.dispatcher)
  const pacer = makePacer({ now, sleep, onPause: deps.observer?.onPause }, options)
  const maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  const transport = {
    dispatchers: connections,
    now,
    large: { read: makeSemaphore(1), held: makeSemaphore(1) },
    options: { timeouts, maxBodyBytes, userAgent: options.userAgent },
    onAnswer: deps.observer?.onAnswer,
  }
  const calls: CallDeps = { transport, pacer, sleep, random }
  const logins = new Map<string, LoginState>()

  const runLogin = <T>({ baseUrl }: { baseUrl: string }, work: () => Promise<T>, signal?: AbortSignal) =>
    pacer.run({ queue: 'login', origin: new URL(baseUrl).origin }, work, signal)

  return {
    /** Makes the endpoints that need a token; an account has one login, however often this is called. */
    forAccount({ accountId, name, baseUrl }: Omit<LoginAccount, 'queue'>): AccountService {
      const key = JSON.stringify([accountId, name, baseUrl])
      const queue = String(accountId)
      const state = logins.get(key) ?? makeLoginState({ accountId, name, baseUrl, queue }, { random, byHand })
      logins.set(key, state)
      return makeAccountService({ calls, vault, log }, state)
    },
    /** Requests a token pair and stores nothing (service document, endpoint 1). */
    requestLogin: (client: ClientCredentials, grant: Grant, signal?: AbortSignal) =>
      runLogin(client, () => requestLogin(calls, { client, grant }, signal), signal),
    authorizeUrl: makeAuthorizeUrl,
    /** Requests the login page and returns the reason when the service refuses to begin a login (endpoint 2). */
    fetchAuthorizeRefusal: (client: Application, input: { redirectUri: string }, signal?: AbortSignal) =>
      runLogin(client, () => fetchAuthorizeRefusal(calls, { client, ...input }, signal), signal),
    /** See listsOneOf. */
    listsOneOf: (input: Omit<Comparison, 'queue'>, signal?: AbortSignal) =>
      listsOneOf(calls, { ...input, queue: 'login', signal }),
    listDefaultWorkouts: (baseUrl: string, signal?: AbortSignal) =>
      listDefaultWorkouts(calls, baseUrl, signal),
    /** Rejects new calls, waits for a token refresh in flight, then closes every connection. */
    async close() {
      pacer.close(new DOMException('the client of the service is closed', 'AbortError'))
      await Promise.allSettled([...logins.values()].map((state) => state.inFlight))
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
  // Each POST has a new connection: a token or an upload would be lost on one that the service has just closed.
  const post = makeAgent(proxies, { connectMs, pipelining: 0 })
  return {
    get,
    post,
    async close() {
      await Promise.all([get.destroy(), post.destroy()])
    },
  }
}
