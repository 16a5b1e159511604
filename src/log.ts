import { type Logger, pino, stdSerializers } from 'pino'
import { nameSourceLines } from './kit/program-folder.ts'
import { escapeDelete, nameControlsInJson, toLine } from './kit/text.ts'

/** Names of properties that could contain a secret, at any of the first three depths of a logged object. */
const SECRET_NAMES = [
  'authorization',
  'access_token',
  'refresh_token',
  'accessToken',
  'refreshToken',
  'client_secret',
  'clientSecret',
  'password',
  'secretKey',
] as const

const REDACTED = [
  ...SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
  // An OAuth authorization code in a form is a secret; `code` elsewhere is the code of an error.
  'form.code',
  '*.form.code',
]

/**
 * Opens the log on standard error, because standard output is for the answer of a verb: JSON lines, or readable lines on a
 * terminal, with secrets redacted by property name. Control characters are escaped, so that texts of the service cannot control
 * the terminal; JSON allows some of them, and a terminal may show those lines later.
 */
export async function openLog(options: { level: string; terminal: boolean }): Promise<Logger> {
  const lines = options.terminal ? await openReadableLines() : pino.destination({ dest: 2, sync: true })
  const escapeLine = options.terminal ? nameControlsInJson : escapeDelete
  return pino(
    {
      level: options.level,
      base: null,
      redact: { paths: REDACTED, censor: '[redacted]' },
      serializers: { error: stdSerializers.errWithCause },
      timestamp: pino.stdTimeFunctions.isoTime,
      // A file's or an activity's name in a sentence cannot begin a line of its own.
      hooks: {
        logMethod(given, log) {
          const [first, ...rest] = given.map((each) => (typeof each === 'string' ? toLine(each) : each))
          log.call(this, first as string, ...(rest as [string]))
        },
      },
    },
    { write: (line: string) => void lines.write(nameSourceLines(escapeLine(line))) },
  )
}

/** Opens a stream on standard error that makes readable lines of JSON lines. */
async function openReadableLines() {
  // Loaded for terminals alone: it is as large as the rest of the log.
  const { default: pretty } = await import('pino-pretty')
  return pretty({
    destination: 2,
    sync: true,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
  })
}

/**
 * Switches the level between the configured one and `debug`, or `info` when `debug` or `trace` is configured. Logs the change
 * and returns the new level. Child loggers that exist already keep their level.
 */
export function toggleDebug(log: Logger, configured: string): string {
  const other = configured === 'trace' || configured === 'debug' ? 'info' : 'debug'
  const level = log.level === configured ? other : configured
  // Logged at the lower of the two levels, because the higher one may hide the line.
  if (level === 'debug') log.level = level
  log.warn({ shown: level }, 'log level changed; the same signal changes it back')
  log.level = level
  return level
}
