import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import pretty from 'pino-pretty'
import { escapeDelete, nameControlsInJson } from './kit/text.ts'

/** Names under which a secret could stand in a logged object, at any of the first three depths. */
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
  // An OAuth authorization code in a form is a secret; `code` elsewhere is the stable word of an error.
  'form.code',
  '*.form.code',
]

/**
 * Makes the one logger: JSON lines on a pipe, readable lines on a terminal, secrets redacted by name.
 * `destination` is for tests; otherwise it writes to standard error, so that standard output stays the answer's.
 */
export function makeLogger(options: {
  level: string
  terminal: boolean
  destination?: DestinationStream
}): Logger {
  const destination = options.destination ?? (options.terminal ? makeTerminalStream() : makeLineStream())
  return pino(
    {
      level: options.level,
      base: null,
      redact: { paths: REDACTED, censor: '[redacted]' },
      serializers: { error: stdSerializers.errWithCause },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    destination,
  )
}

/** Readable lines on standard error. Names come from the service and from files: they must not steer the terminal. */
function makeTerminalStream(): DestinationStream {
  const readable = pretty({
    destination: 2,
    sync: true,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname',
  })
  return { write: (line) => void readable.write(nameControlsInJson(line)) }
}

/** JSON lines on standard error. They are often shown on a terminal later, which obeys more than JSON escapes. */
function makeLineStream(): DestinationStream {
  const lines = pino.destination({ dest: 2, sync: true })
  return { write: (line) => void lines.write(escapeDelete(line)) }
}

/**
 * Turns debug lines on, and at the next call off again; where they are configured, the other way round. Says so in the
 * log, and returns the level that holds now. Loggers made from this one earlier keep their level.
 */
export function toggleDebug(log: Logger, configured: string): string {
  const other = configured === 'trace' || configured === 'debug' ? 'info' : 'debug'
  const level = log.level === configured ? other : configured
  // Said at the more talkative of the two levels, or nobody would see it.
  if (level === 'debug') log.level = level
  log.warn({ shown: level }, 'log level changed; the same signal changes it back')
  log.level = level
  return level
}
