import { sep } from 'node:path'
import envPaths from 'env-paths'
import { z } from 'zod'
import { PROGRAM_FOLDER } from '../../kit/program-folder.ts'
import { isTimeZone, parseDay } from '../../kit/time.ts'
import {
  authorities,
  duration,
  parsed,
  postgresUrl,
  redisUrl,
  url,
  webAddress,
  wholeNumber,
  yesNo,
} from './checks.ts'

/** Returns the default data directory: in a clone `./.musette`; for an installed package, the platform's place for program data, such as `~/.local/share/musette`. */
export function defaultDataDir(programFolder = PROGRAM_FOLDER): string {
  if (!programFolder.includes(`${sep}node_modules${sep}`)) return `.${sep}.musette`
  return envPaths('musette', { suffix: '' }).data
}

const baseUrl = webAddress('is not a URL; write for example https://www.example.com')
  .refine((text) => !text.includes('?'), 'has a query; write the address alone')
  .transform((text) => text.replace(/\/+$/, ''))

const secretKey = parsed((text) => {
  const key = Buffer.from(text, 'base64')
  return key.length === 32 ? key : undefined
}, 'is not 32 bytes in base64; make one with: openssl rand -base64 32')

const proxyUrl = url(
  ['http:', 'https:'],
  'is not the address of an HTTP proxy; write for example http://proxy.example.com:3128',
)

const httpAddress = z
  .string()
  .default('127.0.0.1:8787')
  .transform((text, context) => {
    if (text === 'off') return undefined
    const match = /^(?:(\[[0-9a-f:]+\]|[^:]+):)?(\d{1,5})$/i.exec(text)
    const port = Number(match?.[2])
    if (match && port <= 65_535) return { host: (match[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port }
    context.addIssue('is not host:port; write for example 127.0.0.1:8787, or off')
    return z.NEVER
  })

const httpPath = z
  .string()
  .regex(/^\/(?:[\w.~-]+\/?)*$/, 'is not a path; write for example /musette')
  .optional()
  .transform((text = '') => text.replace(/\/$/, ''))

const day = parsed(parseDay, 'is not a day of the calendar; write for example 2015-01-31').prefault(
  '1970-01-01',
)

const timezone = z.string().refine(isTimeZone, 'is not a time zone; write an IANA name such as Europe/Berlin')

/** The environment variables of core and program by name, each with its check, parsed form, default and purpose. */
export const VARIABLES = {
  MUSETTE_BASE_URL: baseUrl
    .optional()
    .describe('the address of the service; stored with the account at login'),
  MUSETTE_CLIENT_ID: z
    .string()
    .default('service_public')
    .describe('the client of the password and refresh grants'),
  MUSETTE_CLIENT_SECRET: z.string().default('service_public').describe('the secret of that client'),
  DATABASE_URL: postgresUrl
    .optional()
    .describe('your Postgres, 14 or later; unset: an embedded Postgres in the data directory'),
  MUSETTE_READER_URL: postgresUrl
    .optional()
    .describe(
      'a login by which assistants and musette sql read, from musette reader; unset: musette makes one',
    ),
  REDIS_URL: redisUrl
    .optional()
    .describe(
      'your Redis, 6.2 or later, or its sentinels, for several workers; unset: the queue is in Postgres',
    ),
  MUSETTE_MIGRATE: z
    .enum(['on-start'], 'is not on-start')
    .optional()
    .describe(
      'on-start: musette start brings an older database of yours to this version; unset: musette migrate',
    ),
  HTTPS_PROXY: proxyUrl
    .optional()
    .describe(
      'the HTTP proxy towards https addresses of the service, of webhooks and of the heartbeat; unset: HTTP_PROXY',
    ),
  HTTP_PROXY: proxyUrl.optional().describe('the HTTP proxy towards the other addresses of them; unset: none'),
  NO_PROXY: z
    .string()
    .optional()
    .describe('hosts without a proxy, separated by commas; this machine is always one of them'),
  NODE_EXTRA_CA_CERTS: authorities
    .optional()
    .describe('the file of authorities, PEM, that are trusted beside those that Node knows; unset: none'),
  MUSETTE_DATA_DIR: z
    .string()
    .default(defaultDataDir())
    .describe('the folder for the embedded database, the key file and musette.env'),
  MUSETTE_SECRET_KEY: secretKey
    .optional()
    .describe(
      'the key that encrypts the stored tokens, 32 bytes in base64; unset: created in the data directory',
    ),
  MUSETTE_DROP_DIR: z
    .string()
    .optional()
    .describe('the watched folder; unset: the folder drop in the data directory'),
  MUSETTE_AFTER_UPLOAD: z
    .enum(['move', 'keep'], 'is neither move nor keep')
    .default('move')
    .describe('move an uploaded file to done/ or failed/, or keep it in place'),
  MUSETTE_SETTLE: duration('2m').describe('how long a file that was just being written must rest'),
  MUSETTE_KNOWN_RIDES: z
    .enum(['attach', 'send'], 'is neither attach nor send')
    .default('attach')
    .describe('attach a file to the activity of its ride when the service has that already, or send it'),
  MUSETTE_WATCH_POLLING: yesNo(false).describe('scan the folder every 5 seconds, for network shares'),
  MUSETTE_HISTORY_START: day.describe('the first day that is mirrored'),
  MUSETTE_TIMEZONE: timezone
    .optional()
    .describe(
      'the time zone of the rider’s home, for activities whose own zone nothing tells; unset: their days are UTC',
    ),
  MUSETTE_POLL_EVERY: duration('15m').describe('how often the daemon asks for changes'),
  MUSETTE_RECONCILE_EVERY: duration('1d').describe(
    'how often the daemon compares the whole list, which finds deletions',
  ),
  MUSETTE_LAG: duration('1h').describe(
    'how far each poll reaches back, for changes that the service lists late',
  ),
  MUSETTE_SCRUB_PER_DAY: wholeNumber(20, 0, 10_000).describe(
    'activities of each account that the daemon fetches whole and compares in a day; 0: none',
  ),
  MUSETTE_CONCURRENCY: wholeNumber(4, 1, 64).describe('requests at the same time, of one process'),
  MUSETTE_REQUESTS_PER_MINUTE: wholeNumber(240, 1, 1_000_000).describe(
    'requests in a minute, of all processes',
  ),
  MUSETTE_KEEP_RAW: yesNo(true).describe('keep each answer with samples as the service sent it, compressed'),
  MUSETTE_KEEP_FIT: yesNo(true).describe('keep the bytes of each FIT file that passes, compressed'),
  MUSETTE_HTTP: httpAddress.describe('the address of dashboard, health checks and metrics; off for none'),
  MUSETTE_HTTP_PATH: httpPath.describe(
    'the path below which a reverse proxy shows the dashboard, such as /musette; unset: /',
  ),
  MUSETTE_HTTP_TOKEN: z
    .string()
    .min(16, 'is shorter than 16 characters')
    .optional()
    .describe('the token for the dashboard; required unless MUSETTE_HTTP is on loopback'),
  MUSETTE_LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'is not a log level; write for example info',
    )
    .default('info')
    .describe('trace, debug, info, warn, error, fatal or silent'),
} as const

/** Secrets and URLs, which can also be read from the file that the variable `…_FILE` names. */
export const FROM_FILE = [
  'MUSETTE_BASE_URL',
  'MUSETTE_CLIENT_ID',
  'MUSETTE_CLIENT_SECRET',
  'DATABASE_URL',
  'MUSETTE_READER_URL',
  'REDIS_URL',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'MUSETTE_SECRET_KEY',
  'MUSETTE_HTTP_TOKEN',
] as const

/** Variables of other programs, which are often written in lower case. */
export const ALSO_IN_SMALL_LETTERS: readonly string[] = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']

/** Secrets, which `musette config` does not show. */
export const HIDDEN = ['MUSETTE_CLIENT_SECRET', 'MUSETTE_SECRET_KEY', 'MUSETTE_HTTP_TOKEN'] as const
