import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { z } from 'zod'
import { ConfigError } from '../../kit/errors.ts'
import {
  type Complain,
  defineSettings,
  joinSettings,
  type KnownSettings,
  type SettingsGroup,
} from './define-settings.ts'
import {
  dropVariablesOfOthers,
  type Environment,
  IN_DATA_DIR,
  readEnvFile,
  type Source,
  warningsOf,
} from './env-file.ts'
import { assertTrustedFile, assertTrustedFolder } from './trust.ts'
import { ALSO_IN_SMALL_LETTERS, defaultDataDir, FROM_FILE, HIDDEN, VARIABLES } from './variables.ts'

/**
 * The settings of core and program, described in `toConfig`. `features` has the settings of each feature, which reads them by `of` of its
 * group. `setIn` has the file that sets each variable, or '' for the environment.
 */
export type Config = ReturnType<typeof toConfig> &
  Readonly<{
    features: ReadonlyMap<SettingsGroup, unknown>
    /** the file of `--settings`, which processes that this process starts also read */
    envFile: string | undefined
    /** given by `start --take-over` */
    takeOver?: boolean
    setIn: Readonly<Record<string, string>>
  }>

const CORE = defineSettings({ variables: VARIABLES, fromFile: FROM_FILE, hidden: HIDDEN, read: toConfig })

/**
 * Returns the settings unchanged if they have no problem. Otherwise throws ConfigError `bad_config`, which names every wrong variable that
 * the whole program needs, but shows no value.
 */
export function checked(settings: Settings): Settings {
  const problems = settings.problems.filter(({ part }) => !part)
  if (problems.length === 0) return settings
  const lines = problems.map(({ name, sentence }) => `  ${name} ${sentence}`)
  throw new ConfigError('bad_config', `the configuration is wrong:\n${lines.join('\n')}`)
}

/** A variable with a wrong value. `name` is the variable that was set (perhaps with `_FILE`); `sentence` continues after the name. */
export type ConfigProblem = Readonly<{
  name: string
  variable: string
  sentence: string
  part?: 'part' | undefined
}>

/** Where a variable got its value: `name` is the variable that was set (perhaps with `_FILE`), `source` the environment or a file. */
export type Origin = Readonly<{ name: string; source: string; text: string }>

/** The result of reading the settings. `origins`: the variables that were set; `warnings`: sentences about likely mistakes; `known`: every setting. */
export type Settings = Readonly<ReturnType<typeof readSettings>>

/** The parsed values of the variables. */
type Values = z.output<z.ZodObject<typeof VARIABLES>>

const ENVIRONMENT = 'environment'

/**
 * Reads the settings from the environment and the settings files, and validates them. An empty variable counts as not set; a wrong variable
 * gets its default and is listed in `problems`. The environment takes precedence over the file of `--settings`, and that file over
 * `musette.env` in the data directory. `enter` is called with the data directory before anything in it is read. Throws ConfigError
 * `untrusted_data_dir` and `untrusted_settings`.
 */
export function readSettings(
  features: readonly SettingsGroup[],
  env: Environment = { ...process.env },
  envFile?: string,
  enter: (dataDir: string) => void = () => undefined,
) {
  // Otherwise libraries that are loaded later would print passwords for it.
  delete process.env.DEBUG
  dropVariablesOfOthers()
  const known = joinSettings([CORE, ...features])
  const { sources, problems } = readSources(known, env, envFile, enter)
  const origins = readOrigins(known, sources, problems)
  const wrong = new Set(problems.map(({ variable }) => variable))
  const texts = Object.fromEntries(
    [...origins].filter(([variable]) => !wrong.has(variable)).map(([variable, { text }]) => [variable, text]),
  )
  const complain: Complain = (variable, sentence, part) =>
    problems.push({ name: variable, variable, sentence, part })
  const setIn = Object.fromEntries(
    [...origins].map(([variable, { source }]) => [variable, source === ENVIRONMENT ? '' : source]),
  )
  const config: Config = Object.freeze({
    ...CORE.read(texts, complain),
    features: new Map(features.map((group) => [group, group.read(texts, complain)])),
    envFile: envFile === undefined ? undefined : resolve(envFile),
    setIn,
  })
  return { config, problems, warnings: warningsOf(known, sources), origins, known, features }
}

/** Reads the places where variables are set, in order of precedence. */
function readSources(
  known: KnownSettings,
  env: Environment,
  envFile: string | undefined,
  enter: (dataDir: string) => void,
) {
  const sources: Source[] = [{ name: ENVIRONMENT, values: env }]
  const problems: ConfigProblem[] = []
  const read = (name: string, path: string, options?: { optional: boolean }) => {
    try {
      const source = readEnvFile(known, path, options)
      if (source) sources.push(source)
      for (const fault of source?.faults ?? []) problems.push({ name: path, variable: path, sentence: fault })
      return source
    } catch {
      problems.push({ name, variable: name, sentence: `names ${path}, which cannot be read` })
      return undefined
    }
  }
  const trust = (source: Source | undefined) => source?.file && assertTrustedFile(source.name, source.file)
  const named = envFile === undefined ? undefined : read('--settings', resolve(envFile))
  const variable = 'MUSETTE_DATA_DIR'
  const dataDir = resolve(readOrigins(known, sources).get(variable)?.text ?? defaultDataDir())
  enter(dataDir)
  trust(named)
  assertTrustedFolder(dataDir)
  const inDataDir = read(variable, join(dataDir, IN_DATA_DIR), { optional: true })
  trust(inDataDir)
  if (inDataDir?.values[variable]) {
    const sentence = `is set in ${inDataDir.name}, which is itself in the data directory; set it in the environment`
    problems.push({ name: variable, variable, sentence })
  }
  return { sources, problems }
}

/**
 * Reads where each variable is set, and the variable's file if it names one. The first place that sets the variable, or its twin `…_FILE`,
 * counts.
 */
function readOrigins(
  { variables, fromFile }: KnownSettings,
  sources: readonly Source[],
  problems: ConfigProblem[] = [],
): Map<string, Origin> {
  const origins = new Map<string, Origin>()
  for (const variable of variables.keys()) {
    const twin = fromFile.includes(variable) ? `${variable}_FILE` : undefined
    const small = ALSO_IN_SMALL_LETTERS.includes(variable) ? variable.toLowerCase() : undefined
    const setIn = (values: Environment) => (values[variable] || !small ? variable : small)
    const source = sources.find(({ values }) => values[setIn(values)] || (twin && values[twin]))
    if (!source) continue
    const name = setIn(source.values)
    const text = source.values[name]
    if (text) origins.set(variable, { name, source: source.name, text })
    const file = twin && source.values[twin]
    if (!twin || !file) continue
    const complain = (sentence: string) => problems.push({ name: twin, variable, sentence })
    if (text) complain(`is set together with ${variable}; keep one of them`)
    try {
      origins.set(variable, { name: twin, source: source.name, text: readFileSync(file, 'utf8').trim() })
    } catch {
      complain('names a file that cannot be read')
    }
  }
  return origins
}

/** Makes the settings from the values of the variables; everything in them is frozen. */
function toConfig(value: Values) {
  const dataDir = resolve(value.MUSETTE_DATA_DIR)
  const { HTTP_PROXY: http, HTTPS_PROXY: https, NO_PROXY: none = '' } = value
  return {
    dataDir,
    settingsFile: join(dataDir, IN_DATA_DIR),
    secretKey: value.MUSETTE_SECRET_KEY,
    service: Object.freeze({
      baseUrl: value.MUSETTE_BASE_URL,
      clientId: value.MUSETTE_CLIENT_ID,
      clientSecret: value.MUSETTE_CLIENT_SECRET,
      concurrency: value.MUSETTE_CONCURRENCY,
      requestsPerMinute: value.MUSETTE_REQUESTS_PER_MINUTE,
    }),
    /** if undefined, musette uses the embedded Postgres in the data directory */
    databaseUrl: value.DATABASE_URL,
    /** the login with which assistants and `musette sql` read; undefined: musette makes one */
    readerUrl: value.MUSETTE_READER_URL,
    /** whether the daemon migrates an older database of the user to this version */
    migrateOnStart: value.MUSETTE_MIGRATE === 'on-start',
    /** the HTTP proxies for the service and the webhooks; undefined: none */
    proxies: http || https ? Object.freeze({ http, https, none }) : undefined,
    /** a file of further certificate authorities, which Node reads if the environment names it */
    extraAuthorities: value.NODE_EXTRA_CA_CERTS,
    /** if undefined, the queue is in the same database (BullMQ's Postgres backend) */
    redisUrl: value.REDIS_URL,
    drop: Object.freeze({
      dir: resolve(value.MUSETTE_DROP_DIR ?? join(dataDir, 'drop')),
      afterUpload: value.MUSETTE_AFTER_UPLOAD,
      polling: value.MUSETTE_WATCH_POLLING,
      settleMs: value.MUSETTE_SETTLE,
    }),
    /** whether the bytes of each accepted FIT file are kept in the database */
    keepFit: value.MUSETTE_KEEP_FIT,
    knownActivities: value.MUSETTE_KNOWN_RIDES,
    /** the home time zone, an IANA name, of accounts that have none */
    timezone: value.MUSETTE_TIMEZONE,
    mirror: Object.freeze({
      historyStart: value.MUSETTE_HISTORY_START,
      pollEveryMs: value.MUSETTE_POLL_EVERY,
      reconcileEveryMs: value.MUSETTE_RECONCILE_EVERY,
      lagMs: value.MUSETTE_LAG,
      /** how many activities of each account are fetched completely and compared per day */
      scrubPerDay: value.MUSETTE_SCRUB_PER_DAY,
      keepRaw: value.MUSETTE_KEEP_RAW,
    }),
    /** if undefined, musette serves no dashboard, health checks or metrics */
    http:
      value.MUSETTE_HTTP &&
      Object.freeze({
        ...value.MUSETTE_HTTP,
        /** the path below which a reverse proxy serves the dashboard, without a slash at the end; empty at the root of a host */
        path: value.MUSETTE_HTTP_PATH,
        token: value.MUSETTE_HTTP_TOKEN,
      }),
    logLevel: value.MUSETTE_LOG_LEVEL,
  }
}
