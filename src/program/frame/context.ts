import { setMaxListeners } from 'node:events'
import type { Logger } from 'pino'
import {
  asDiskFull,
  ConfigError,
  CredentialsRejectedError,
  errorCode,
  errorLine,
  isAbort,
  isTooManyFiles,
  MusetteError,
  RateLimitedError,
  TransientError,
} from '../../kit/errors.ts'
import { nameSourceLines } from '../../kit/program-folder.ts'
import { escapeDelete } from '../../kit/text.ts'
import { MINUTE } from '../../kit/time.ts'
import type { App, WorkoutsFeature } from '../app/app.ts'
import type { LocalApp } from '../app/local-app.ts'
import type { CopyFeature } from '../app/open-database.ts'
import { fitCommand, type RemedyConfig, remedyOf, withRemedy } from '../app/remedy.ts'
import type { Config, Settings } from '../config/config.ts'
import type { SettingsGroup } from '../config/define-settings.ts'
import type { FactsApp } from './findings/facts.ts'
import { escapeControls } from './output.ts'

/** Signals within this time, ms, count as one press of Ctrl-C, because npm and npx forward the signal, so it arrives twice. */
const SAME_PRESS_MS = 500

/** How long a stop may take, ms: longer than a token request, which is never cancelled. The next run repairs unfinished work, as after a crash. */
const STOP_WITHIN_MS = MINUTE

const STOPPED = 'musette: stopped before it finished; run it again to continue'

/** The daemon with all its roles, in this process; `url` is the address of the dashboard. */
export type RunningDaemon = { app: App; url: string | undefined; close(): Promise<void> }

/** What every verb gets: configuration, log, output, and the signal that aborts at SIGINT or SIGTERM. */
export type Context = {
  config: Config
  /** where the configuration comes from; the settings have problems only for verbs with `takesProblems` */
  settings: Settings
  log: Logger
  signal: AbortSignal
  /** all features; passed in, because the frame does not import features */
  features: ReadonlyArray<WorkoutsFeature & FactsApp['features'][number] & CopyFeature>
  /** whether standard error is a terminal: progress is redrawn in place, and verbs may ask questions */
  terminal: boolean
  /** writes one line of the answer to standard output; control characters are escaped as psql does */
  print(line: string): void
  /** writes the answer as one line of JSON to standard output */
  printJson(answer: unknown): void
  /** writes one line that is not part of the answer to standard error; control characters are escaped as psql does */
  note(line: string): void
  /** opens the daemon, for a feature's verb that shows the whole program */
  openDaemon(deps: Pick<Context, 'config' | 'log' | 'signal'>): Promise<RunningDaemon>
}

/** The work of a verb; resolves to the exit code, or undefined for 0. */
type Verb = (context: Context) => Promise<number | undefined>

export type VerbOptions = {
  /** whether the verb logs its work; other verbs log only warnings */
  logsWork?: boolean
  /** whether the verb runs even if the configuration is wrong; wrong variables then have their defaults */
  takesProblems?: boolean
  /** whether the verb does not use the data directory */
  withoutDataDir?: boolean
}

/** Runs a verb and turns its errors into an exit code. */
export type Run = (verb: Verb, options?: VerbOptions) => Promise<void>

/** Opens a verb's context: reads the configuration, opens the log, and listens for signals until `dispose`. Throws ConfigError. */
export async function openContext(
  groups: readonly SettingsGroup[],
  options: VerbOptions & { envFile?: string | undefined; argv: readonly string[] } & Pick<
      Context,
      'openDaemon' | 'features'
    >,
): Promise<Context & { dispose(): void }> {
  const { checked, readSettings } = await import('../config/config.ts')
  const { becomeOwner } = await import('../config/become-owner.ts')
  const enter = (dataDir: string) => becomeOwner(dataDir, options.argv)
  const settings = readSettings(groups, undefined, options.envFile, enter)
  const { config, warnings } = options.takesProblems ? settings : checked(settings)
  if (config.extraAuthorities && config.setIn.NODE_EXTRA_CA_CERTS)
    (await import('../../kit/http-agent.ts')).trustAlso(config.extraAuthorities)
  const { openLog } = await import('../../log.ts')
  const terminal = Boolean(process.stderr.isTTY)
  const level = !options.logsWork && config.logLevel === 'info' ? 'warn' : config.logLevel
  const log = await openLog({ level, terminal })
  const note = (line: string) => void process.stderr.write(`${escapeControls(line)}\n`)
  const ofParts = options.takesProblems
    ? []
    : settings.problems.map(({ name, sentence }) => `${name} ${sentence}`)
  for (const warning of [...warnings, ...ofParts])
    options.logsWork ? log.warn(warning) : note(`musette: ${warning}`)
  // Libraries print to the console in their own formats; musette itself prints nothing there.
  const drop = (...texts: unknown[]) =>
    log.debug({ said: texts.map((text) => errorLine(text)) }, 'a library printed')
  Object.assign(console, { log: drop, info: drop, warn: drop, error: drop })
  const isElsewhere = settings.origins.has('MUSETTE_DATA_DIR') && config.databaseUrl === undefined
  if (isElsewhere && !options.withoutDataDir) note(`musette: the data directory is ${config.dataDir}`)
  const stop = listenForStop()
  return {
    config,
    settings,
    log,
    signal: stop.signal,
    features: options.features,
    terminal,
    print: (line) => void process.stdout.write(`${escapeControls(line)}\n`),
    printJson: (answer) => void process.stdout.write(`${escapeDelete(JSON.stringify(answer))}\n`),
    note,
    openDaemon: options.openDaemon,
    dispose: stop.dispose,
  }
}

function listenForStop(): { signal: AbortSignal; dispose(): void } {
  const controller = new AbortController()
  // Every request, pause and job of the process listens to this signal, and Node warns of a leak if there are more than ten listeners.
  setMaxListeners(0, controller.signal)
  let firstAt: number | undefined
  const endAtOnce = () => {
    process.stderr.write(`${STOPPED}\n`)
    process.exit(EXIT.interrupted)
  }
  const stop = () => {
    if (firstAt !== undefined && performance.now() - firstAt > SAME_PRESS_MS) endAtOnce()
    if (firstAt !== undefined) return
    firstAt = performance.now()
    controller.abort()
    setTimeout(endAtOnce, STOP_WITHIN_MS).unref()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return {
    signal: controller.signal,
    dispose() {
      process.off('SIGINT', stop)
      process.off('SIGTERM', stop)
    },
  }
}

/** The exit codes that scripts rely on. */
export const EXIT = {
  done: 0,
  unexpected: 1,
  usage: 2,
  noLogin: 3,
  unreachable: 4,
  partial: 5,
  /** stopped by a signal before it finished; shells report 128 + 2 for SIGINT */
  interrupted: 130,
} as const

/** Error codes after which a person must sign in or give other credentials. */
const LOGIN_CODES: ReadonlySet<string> = new Set([
  'no_account',
  'no_data',
  'database_empty',
  'invalid_client',
  'unauthorized_client',
])

/** Returns the exit code and the sentence to print for an error that ended a verb. */
export function exitFor(
  thrown: unknown,
  options: { signal?: AbortSignal; config?: RemedyConfig } = {},
): { code: number; sentence: string } {
  const error = asDiskFull(thrown) ?? thrown
  if (isAbort(error, options.signal)) return { code: EXIT.interrupted, sentence: STOPPED }
  if (error instanceof MusetteError) {
    const { config } = options
    const sentence = withRemedy(`musette: ${error.message}`, config ? remedyOf(error, config) : {})
    return { code: codeFor(error), sentence: config ? fitCommand(sentence, config) : sentence }
  }
  if (isTooManyFiles(error)) {
    const sentence =
      'musette: too many open files; raise the limit to 256 or more: ulimit -n 1024, or LimitNOFILE=1024 in the systemd unit'
    return { code: EXIT.unreachable, sentence }
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { code: EXIT.unexpected, sentence: `musette: unexpected error: ${nameSourceLines(detail)}` }
}

function codeFor(error: MusetteError): number {
  if (error.code === 'other_rider') return EXIT.usage
  if (error instanceof CredentialsRejectedError || LOGIN_CODES.has(errorCode(error))) return EXIT.noLogin
  if (error instanceof ConfigError) return EXIT.usage
  if (error instanceof TransientError || error instanceof RateLimitedError) return EXIT.unreachable
  return EXIT.unexpected
}

/**
 * Parks the accounts whose tokens cannot be read, so that the report shows them. If the key is wrong or lost, prints a sentence that says
 * so, and returns it.
 */
export async function noteUnreadableLogins(
  context: Pick<Context, 'note'>,
  app: Pick<LocalApp, 'vault'>,
  accountId?: number,
): Promise<string | undefined> {
  const { parkUnreadableLogins } = await import('../app/local-app.ts')
  const wrongKey = await parkUnreadableLogins(app, accountId)
  if (wrongKey) context.note(`musette: ${wrongKey.message}`)
  return wrongKey?.message
}
