import type { Logger } from 'pino'
import { Agent, type Dispatcher } from 'undici'
import { type Clock, type Sleep, systemClock, sleep as systemSleep } from '../kit/time.ts'
import type { TokenPair, TokenVault } from '../store/vault/types.ts'
import type { CallDeps } from './calls.ts'
import { type AccountService, type Answer, listDefaultWorkouts, makeAccountService } from './endpoints.ts'
import {
  type ClientCredentials,
  findAuthorizeRefusal,
  type Grant,
  makeAuthorizeUrl,
  requestTokens,
} from './grants.ts'
import { DEFAULT_MAX_BODY_BYTES, DEFAULT_TIMEOUTS, type Timeouts } from './message.ts'
import { makePacer, type OnPause } from './pacer.ts'
import { makeSessionState, type SessionState } from './session.ts'
import type { OnAnswer } from './transport.ts'
import type { WireWorkoutList } from './wire/wire-workouts.ts'

export type { AccountService, Answer } from './endpoints.ts'
export { parseUploadedPath } from './wire/wire-upload.ts'

export type ServiceObserver = { onAnswer: OnAnswer; onPause: OnPause }

/** The service's client: every call of every account goes through its one pace. */
export type Service = {
  /** The endpoints that need a token; one account has one session, however often this is called. */
  forAccount(account: { accountId: number; name: string; baseUrl: string }): AccountService
  /** Grants ask for a token pair and store nothing (service document, endpoint 1). */
  passwordGrant(
    client: ClientCredentials,
    input: { username: string; password: string },
    signal?: AbortSignal,
  ): Promise<TokenPair>
  authorizationCodeGrant(
    client: ClientCredentials,
    input: { code: string; redirectUri: string },
    signal?: AbortSignal,
  ): Promise<TokenPair>
  refreshGrant(
    client: ClientCredentials,
    input: { refreshToken: string },
    signal?: AbortSignal,
  ): Promise<TokenPair>
  /** The address a rider's browser is sent to (service document, endpoint 2). */
  authorizeUrl(
    client: Pick<ClientCredentials, 'baseUrl' | 'clientId'>,
    input: { redirectUri: string; state: string },
  ): string
  /** Finds out whether the service refuses to begin a login there, and in which words; see session/authorize.ts. */
  findAuthorizeRefusal(
    client: Pick<ClientCredentials, 'baseUrl' | 'clientId'>,
    input: { redirectUri: string },
    signal?: AbortSignal,
  ): Promise<string | undefined>
  /** Lists the default workouts, without a token (service document, endpoint 5). */
  listDefaultWorkouts(baseUrl: string, signal?: AbortSignal): Promise<Answer<WireWorkoutList>>
  /** Refuses new calls, lets a token refresh under way finish, then drops every connection. */
  close(): Promise<void>
}

export type ServiceOptions = {
  /** requests at a time, over all accounts */
  concurrency: number
  /** requests in any 60 s, over all accounts */
  requestsPerMinute: number
  /** how long, in ms, a call waits when the service asked for a pause; beyond it is RateLimitedError. Default: without limit */
  longestPauseMs?: number | undefined
  userAgent: string
  /** a person waits: the first renewal of tokens is tried at once, also in the pause after one that failed before */
  byHand?: boolean
  timeouts?: Partial<Timeouts>
  /** the largest answer that is read, after decompression; 200 MB */
  maxBodyBytes?: number
}

/** Opens the client of the service. A `dispatcher` that is handed in stays the caller's to close. */
export function openService(
  deps: {
    vault: TokenVault
    log: Logger
    now?: Clock
    sleep?: Sleep
    random?: () => number
    dispatcher?: Dispatcher
    /** hears of every request and every wait that the service asked for, as for metrics */
    observer?: ServiceObserver | undefined
  },
  options: ServiceOptions,
): Service {
  const { vault, log, now = systemClock, sleep = systemSleep, random = Math.random } = deps
  const { byHand = false } = options
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  const connections = openConnections(timeouts, deps.dispatcher)
  const pacer = makePacer({ now, sleep, onPause: deps.observer?.onPause }, options)
  const maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  const transport = {
    dispatchers: connections,
    now,
    options: { timeouts, maxBodyBytes, userAgent: options.userAgent },
    onAnswer: deps.observer?.onAnswer,
  }
  const calls: CallDeps = { transport, pacer, sleep, random }
  const sessions = new Map<string, SessionState>()

  const grant = (client: ClientCredentials, asked: Grant, signal?: AbortSignal): Promise<TokenPair> => {
    const turn = { queue: 'login', origin: new URL(client.baseUrl).origin }
    return pacer.run(turn, () => requestTokens(calls, { client, grant: asked }, signal), signal)
  }

  return {
    forAccount(account) {
      const { accountId, name, baseUrl } = account
      const key = JSON.stringify([accountId, name, baseUrl])
      const queue = String(accountId)
      const state =
        sessions.get(key) ?? makeSessionState({ accountId, name, baseUrl, queue }, { random, byHand })
      sessions.set(key, state)
      return makeAccountService({ calls, vault, log }, state)
    },
    passwordGrant: (client, input, signal) => grant(client, { type: 'password', ...input }, signal),
    authorizationCodeGrant: (client, input, signal) =>
      grant(client, { type: 'authorization_code', ...input }, signal),
    refreshGrant: (client, input, signal) => grant(client, { type: 'refresh_token', ...input }, signal),
    authorizeUrl: makeAuthorizeUrl,
    findAuthorizeRefusal(client, input, signal) {
      const turn = { queue: 'login', origin: new URL(client.baseUrl).origin }
      return pacer.run(turn, () => findAuthorizeRefusal(calls, { client, ...input }, signal), signal)
    },
    listDefaultWorkouts: (baseUrl, signal) => listDefaultWorkouts(calls, baseUrl, signal),
    async close() {
      pacer.close(new DOMException('the client of the service is closed', 'AbortError'))
      await Promise.allSettled([...sessions.values()].map((state) => state.inFlight))
      await connections.close()
    },
  }
}

function openConnections(timeouts: Timeouts, handedIn: Dispatcher | undefined) {
  if (handedIn) return { get: handedIn, post: handedIn, close: async () => undefined }
  const connect = { timeout: timeouts.connectMs }
  const get = new Agent({ connect })
  // No connection is used twice for a POST: one that the service has just closed would lose a token or an upload.
  const post = new Agent({ connect, pipelining: 0 })
  return {
    get,
    post,
    async close() {
      await Promise.all([get.destroy(), post.destroy()])
    },
  }
}
