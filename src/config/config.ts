import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { ConfigError } from '../kit/errors.ts'
import { FROM_FILE, VARIABLES } from './variables.ts'
import { readWebhooksFile, type WebhooksFile } from './webhooks-file.ts'

export type Config = Readonly<{
  dataDir: string
  secretKey: Buffer | undefined
  service: Readonly<{
    baseUrl: string | undefined
    clientId: string
    clientSecret: string
    concurrency: number
    requestsPerMinute: number
  }>
  /** undefined: the embedded Postgres in the data directory */
  databaseUrl: string | undefined
  /** undefined: BullMQ's Postgres backend in the same database */
  redisUrl: string | undefined
  drop: Readonly<{ dir: string; afterUpload: 'move' | 'keep'; polling: boolean }>
  workoutDir: string | undefined
  /** `dir` undefined: the history is exported by hand only */
  export: Readonly<{ dir: string | undefined; everyMs: number }>
  /** `dir` undefined: backups are made by hand only; `keep` is the number of files that stay in it */
  backup: Readonly<{ dir: string | undefined; everyMs: number; keep: number }>
  /** undefined: nothing is sent */
  webhooks: WebhooksFile | undefined
  mirror: Readonly<{
    historyStart: Date
    pollEveryMs: number
    reconcileEveryMs: number
    lagMs: number
    keepRaw: boolean
  }>
  /** undefined: no dashboard, health or metrics */
  http: Readonly<{ host: string; port: number; token: string | undefined }> | undefined
  logLevel: string
}>

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the environment and validates it. An empty variable counts as not set.
 * Throws ConfigError `bad_config`, which names every wrong variable and never a value.
 */
export function readConfig(env: Environment = process.env): Config {
  const { config, problems } = readAnyConfig(env)
  if (problems.length === 0) return config
  const lines = problems.map(({ name, sentence }) => `  ${name} ${sentence}`)
  throw new ConfigError('bad_config', `the configuration is wrong:\n${lines.join('\n')}`)
}

/** A wrong variable: `name` is the one that was set (perhaps with `_FILE`); the sentence begins after the name. */
export type ConfigProblem = Readonly<{ name: string; variable: string; sentence: string }>

/** zod compiles a function for a schema, which is slower for one that is used once. */
const ONCE = { jitless: true } as const

/** Reads the environment as readConfig does, but never throws: a wrong variable gets its default and is listed in `problems`. */
export function readAnyConfig(env: Environment = process.env): {
  config: Config
  problems: ConfigProblem[]
} {
  const { raw, problems } = readTwins(env)
  const schema = z.object(VARIABLES)
  for (const issue of schema.safeParse(raw, ONCE).error?.issues ?? []) {
    const name = issue.path.join('.')
    problems.push({ name, variable: name, sentence: issue.message })
  }
  for (const { variable } of problems) delete raw[variable]
  const values = schema.parse(raw, ONCE)
  const webhooks = readWebhooks(values.MUSETTE_WEBHOOKS, problems)
  return { config: toConfig(values, webhooks), problems }
}

function readWebhooks(path: string | undefined, problems: ConfigProblem[]): WebhooksFile | undefined {
  if (path === undefined) return undefined
  const read = readWebhooksFile(resolve(path))
  if ('file' in read) return read.file
  const variable = 'MUSETTE_WEBHOOKS'
  for (const sentence of read.faults) problems.push({ name: variable, variable, sentence })
  return undefined
}

function readTwins(env: Environment): { raw: Record<string, string>; problems: ConfigProblem[] } {
  const raw: Record<string, string> = {}
  const problems: ConfigProblem[] = []
  for (const name of Object.keys(VARIABLES)) {
    const value = env[name]
    if (value !== undefined && value !== '') raw[name] = value
  }
  for (const variable of FROM_FILE) {
    const name = `${variable}_FILE`
    const file = env[name]
    if (!file) continue
    const complain = (sentence: string) => problems.push({ name, variable, sentence })
    if (raw[variable] !== undefined) complain(`is set together with ${variable}; keep one of them`)
    try {
      raw[variable] = readFileSync(file, 'utf8').trim()
    } catch {
      complain('names a file that cannot be read')
    }
  }
  return { raw, problems }
}

function toConfig(
  value: z.output<z.ZodObject<typeof VARIABLES>>,
  webhooks: WebhooksFile | undefined,
): Config {
  const dataDir = resolve(value.MUSETTE_DATA_DIR)
  return Object.freeze({
    dataDir,
    secretKey: value.MUSETTE_SECRET_KEY,
    service: Object.freeze({
      baseUrl: value.MUSETTE_BASE_URL,
      clientId: value.MUSETTE_CLIENT_ID,
      clientSecret: value.MUSETTE_CLIENT_SECRET,
      concurrency: value.MUSETTE_CONCURRENCY,
      requestsPerMinute: value.MUSETTE_REQUESTS_PER_MINUTE,
    }),
    databaseUrl: value.DATABASE_URL,
    redisUrl: value.REDIS_URL,
    drop: Object.freeze({
      dir: resolve(value.MUSETTE_DROP_DIR ?? join(dataDir, 'drop')),
      afterUpload: value.MUSETTE_AFTER_UPLOAD,
      polling: value.MUSETTE_WATCH_POLLING,
    }),
    workoutDir: value.MUSETTE_WORKOUT_DIR,
    export: Object.freeze({
      dir: value.MUSETTE_EXPORT_DIR === undefined ? undefined : resolve(value.MUSETTE_EXPORT_DIR),
      everyMs: value.MUSETTE_EXPORT_EVERY,
    }),
    backup: Object.freeze({
      dir: value.MUSETTE_BACKUP_DIR === undefined ? undefined : resolve(value.MUSETTE_BACKUP_DIR),
      everyMs: value.MUSETTE_BACKUP_EVERY,
      keep: value.MUSETTE_BACKUP_KEEP,
    }),
    webhooks,
    mirror: Object.freeze({
      historyStart: value.MUSETTE_HISTORY_START,
      pollEveryMs: value.MUSETTE_POLL_EVERY,
      reconcileEveryMs: value.MUSETTE_RECONCILE_EVERY,
      lagMs: value.MUSETTE_LAG,
      keepRaw: value.MUSETTE_KEEP_RAW,
    }),
    http: value.MUSETTE_HTTP && Object.freeze({ ...value.MUSETTE_HTTP, token: value.MUSETTE_HTTP_TOKEN }),
    logLevel: value.MUSETTE_LOG_LEVEL,
  })
}
