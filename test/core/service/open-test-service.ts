import { pino } from 'pino'
import { MockAgent } from 'undici'
import { onTestFinished } from 'vitest'
import type { Credentials } from '../../../src/core/service/credentials.ts'
import { openService, type ServiceObserver, type ServiceOptions } from '../../../src/core/service/service.ts'
import { type MemoryVault, makeCredentials, makeMemoryVault } from './memory-vault.ts'
import type { TestServer } from './servers.ts'

export const BASE_URL = 'https://service.test'
export const ACCOUNT = { accountId: 1, name: 'default', baseUrl: BASE_URL }
export const CLIENT = { baseUrl: BASE_URL, clientId: 'service_public', clientSecret: 'service_public' }

export type SentRequest = { method: string; path: string; headers: Record<string, string>; body: string }
export type Reply = { status?: number; body?: unknown; headers?: Record<string, string> }

/** A rider's grants. */
export const PASSWORD = { type: 'password', username: 'u', password: 'p' } as const
export const CODE = { type: 'authorization_code', code: 'c', redirectUri: 'http://127.0.0.1/cb' } as const

/** Makes a clock that stands still until it is advanced; sleeping advances it. */
export function makeTestClock(start = new Date('2024-05-01T12:00:00Z')) {
  let time = start.getTime()
  const slept: number[] = []
  return {
    now: () => new Date(time),
    advance: (ms: number) => {
      time += ms
    },
    slept,
    async sleep(ms: number, signal?: AbortSignal): Promise<void> {
      await Promise.resolve()
      signal?.throwIfAborted()
      slept.push(ms)
      time += ms
    },
  }
}

/** Makes a logger that keeps its lines. */
export function makeTestLog() {
  const lines: string[] = []
  const log = pino(
    { level: 'trace', serializers: { error: pino.stdSerializers.errWithCause } },
    { write: (line: string) => void lines.push(line) },
  )
  return { log, lines }
}

/** Opens the client with a function that answers in place of the network; `account` has the endpoints of ACCOUNT. */
export function openTestService(
  answer: (requests: SentRequest) => Reply | Error,
  {
    observer,
    ...options
  }: Partial<ServiceOptions> & { vault?: MemoryVault; observer?: ServiceObserver } = {},
) {
  const clock = makeTestClock()
  const { log, lines } = makeTestLog()
  const requests: SentRequest[] = []
  const vault = options.vault ?? makeMemoryVault({ 1: makeCredentials(clock.now()) })
  const agent = new MockAgent()
  agent.disableNetConnect()
  for (const method of ['GET', 'POST']) {
    agent
      .get(BASE_URL)
      .intercept({ path: () => true, method })
      .reply((request) => {
        const seen: SentRequest = {
          method,
          path: request.path,
          headers: { ...(request.headers as Record<string, string>) },
          body: String(request.body ?? ''),
        }
        requests.push(seen)
        const reply = answer(seen)
        if (reply instanceof Error) throw reply
        const data = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {})
        return { statusCode: reply.status ?? 200, data, responseOptions: { headers: reply.headers ?? {} } }
      })
      .persist()
  }
  const service = openService(
    { vault, log, now: clock.now, sleep: clock.sleep, random: () => 0, dispatcher: agent, observer },
    { concurrency: 4, requestsPerMinute: 60_000_000, userAgent: 'musette/test', ...options },
  )
  const account = service.forAccount(ACCOUNT)
  return { service, account, vault, requests, lines, slept: clock.slept, clock }
}

/** Opens the client on a real server; pauses take no time. Closes both after the test. */
export function openRealAccount(
  server: TestServer,
  options: Partial<ServiceOptions> = {},
  changes: Partial<Credentials> = {},
) {
  const { log, lines } = makeTestLog()
  const { now, sleep, slept } = makeTestClock()
  const { origin: baseUrl } = server
  const vault = makeMemoryVault({ 1: makeCredentials(now(), { origin: baseUrl, ...changes }) })
  const service = openService(
    { vault, log, now, sleep, random: () => 0 },
    { concurrency: 4, requestsPerMinute: 60_000_000, userAgent: 'musette/test', ...options },
  )
  onTestFinished(() => server.close())
  onTestFinished(() => service.close())
  return { service, account: service.forAccount({ ...ACCOUNT, baseUrl }), vault, lines, slept }
}

/** Makes a token response as in the document. */
export function tokenBody(number: number): Record<string, unknown> {
  return {
    access_token: `access-${number}`,
    refresh_token: `refresh-${number}`,
    expires_in: 604_800,
    token_type: 'Bearer',
    scope: 'basic',
  }
}

/** Returns the error with which a promise rejects; throws if it resolves. */
export async function errorOf(
  promise: Promise<unknown>,
): Promise<Error & { code?: string; status?: number }> {
  try {
    await promise
  } catch (error) {
    if (error instanceof Error) return error
    throw error
  }
  throw new Error('expected an error')
}
