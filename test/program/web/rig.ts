import { type IncomingHttpHeaders, request } from 'node:http'
import { dashboard } from '../../../src/features/dashboard/feature.ts'
import { FEATURES } from '../../../src/features/index.ts'
import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import type { Role } from '../../../src/program/daemon/roles.ts'
import { openWeb, type WebDeps } from '../../../src/program/web/web.ts'
import { readConfig } from '../../kit/config.ts'
import { makeTestLog, type TestLog } from '../../kit/log.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { openLine } from '../../kit/postgres-line.ts'
import { openTestRedis } from '../../kit/redis.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

export const TOKEN = 'a tökén of the tests'
/** The header as curl and Prometheus send it: in UTF-8, byte by byte. */
export const bearer = (token: string) => `Bearer ${Buffer.from(token).toString('latin1')}`

/** A request; `localAddress` is the address to send from, instead of the usual one. */
type Asked = { method?: string; headers?: Record<string, string>; body?: string; localAddress?: string }
type Answered = { status: number; headers: IncomingHttpHeaders; body: string }

export type WebRig = Awaited<ReturnType<typeof openWebRig>>

/** Opens a daemon with a web server on its own database, without accounts; by default it does nothing else. */
export async function openWebRig(
  options: { roles?: readonly Role[]; queue?: 'postgres' | 'redis'; env?: Record<string, string> } = {},
) {
  const release = makeReleaseStack()
  try {
    const database = await openTestDatabase()
    release.defer('database', () => database.close())
    const line = await openLine(database.url)
    release.defer('line', () => line.close())
    const redis = options.queue === 'redis' ? await openTestRedis() : undefined
    if (redis) release.defer('redis', () => redis.close())
    const folder = await openTempDir('web')
    release.defer('folder', () => folder.close())
    const log = makeTestLog()
    const config = readConfig({
      ...(redis && { REDIS_URL: redis.url }),
      DATABASE_URL: line.url,
      MUSETTE_DATA_DIR: folder.path,
      MUSETTE_HTTP: '127.0.0.1:0',
      ...options.env,
    })
    const signal = new AbortController().signal
    const daemon = await openDaemon(config, log.log, { roles: options.roles ?? ['web'], signal })
    release.defer('daemon', () => daemon.close())
    const url = daemon.url ?? ''
    return {
      url,
      daemon,
      log,
      line,
      /** sends a request to the daemon, with exactly these headers */
      ask: (path: string, asked?: Asked) => ask(`${url}${path}`, asked),
      askWithToken: (path: string, { headers, ...asked }: Asked = {}) =>
        ask(`${url}${path}`, { ...asked, headers: { authorization: bearer(TOKEN), ...headers } }),
      rows: (text: string, values?: unknown[]) => queryOnce(database.url, text, values),
      close: () => release.release(),
    }
  } catch (error) {
    await release.release()
    throw error
  }
}

/** Opens a web server whose queries all fail, for tests of the code before the queries. */
export function openBareWeb(options: {
  host: string
  port?: number
  token?: string | undefined
  env?: Record<string, string>
  log?: TestLog
  features?: WebDeps['features']
}) {
  const fail = () => Promise.reject(new Error('no such part in this test'))
  const { log } = options.log ?? makeTestLog()
  return openWeb(
    {
      app: {
        log,
        config: readConfig(options.env ?? {}),
        store: { read: fail, transaction: fail } as never,
        databaseUrl: '',
        features: FEATURES,
      },
      visitorStore: { read: fail },
      jobs: { counts: fail, paused: fail, queues: () => [] },
      features: options.features ?? [dashboard],
      observeRequests: () => undefined,
      isWatched: true,
      readiness: fail,
      endedSessions: { find: fail, record: fail },
    },
    { host: options.host, port: options.port ?? 0, token: options.token },
  )
}

/** Sends a request with any header that a browser or an attacker may send; `fetch` refuses some headers. */
export function ask(
  url: string,
  { method = 'GET', headers = {}, body, localAddress }: Asked = {},
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, ...(localAddress && { localAddress }) }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.on('error', reject)
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Parses a page in Prometheus's text format into values by name and labels. */
export function parseMetrics(page: string): Map<string, number> {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const cut = line.lastIndexOf(' ')
      const value = line.slice(cut + 1)
      return [line.slice(0, cut), value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value)]
    }),
  )
}
