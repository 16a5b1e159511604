import { once } from 'node:events'
import { pipeline, Transform } from 'node:stream'
import { ProtocolErrorCode, STDIO_DEFAULT_MAX_BUFFER_SIZE } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Logger } from 'pino'
import { errorLine } from '../../kit/errors.ts'
import { formatBytes } from '../../kit/text.ts'
import { joinSignals } from '../../kit/time.ts'
import { type Database, openDatabase } from '../../program/app/open-database.ts'
import type { Config } from '../../program/config/config.ts'
import { loginOptions } from '../../program/query/reading-session.ts'
import { makeGuardedReader } from './guarded-reader.ts'
import { judgeText, makeRefusal, type Refusal } from './judge-message.ts'
import { makeServerFactory } from './server.ts'

/** Maximum size of a message: the SDK drops the connection at twice this size. */
const MAX_BYTES = STDIO_DEFAULT_MAX_BUFFER_SIZE / 2
const NEWLINE = 10

/**
 * Serves one client on standard input and output until the input ends or the signal aborts, then cancels running calls. `account` is
 * the only account that the client can read; undefined: all accounts.
 */
export async function serveStandardStreams(
  { config, log }: { config: Config; log: Logger },
  { account, signal }: { account: string | undefined; signal: AbortSignal },
): Promise<void> {
  // The database is opened at the first statement, and opened again after a failure.
  let database: Promise<Database> | undefined
  const find = async () => {
    const opening = database ?? openDatabase(config, log, signal)
    database = opening
    opening.catch(() => {
      if (database === opening) database = undefined
    })
    return { ...loginOptions(config), connectionString: (await opening).url, account }
  }
  const reader = makeGuardedReader({ log, find })
  const notUnderstood = (reason: string) => log.warn({ reason }, 'mcp: received an invalid message')
  const onerror = (error: Error) => notUnderstood(errorLine(error))
  const refuse = (refusal: Refusal) => {
    notUnderstood(refusal.error.message)
    process.stdout.write(`${JSON.stringify(refusal)}\n`)
  }
  const input = judgeStream(refuse)
  // A killed client closes the input without an end event.
  pipeline(process.stdin, input, () => undefined)
  const transport = new StdioServerTransport(input, process.stdout)
  const connection = serveStdio(makeServerFactory({ log, reader }), { onerror, transport })
  const stop = joinSignals([signal])
  try {
    await Promise.race([once(input, 'end', stop), once(input, 'close', stop)]).catch(() => undefined)
  } finally {
    stop.abort()
    stop.clear()
    await connection.close()
    // Also closes standard input, because an open input would keep the process running.
    input.destroy()
    await (await database?.catch(() => undefined))?.close()
  }
}

/**
 * Returns a stream that reads lines and passes on the valid messages, because the SDK does not answer invalid ones. Calls `refuse` with
 * the error response to each invalid message. Passes on the messages of a batch one by one; each gets a separate response.
 */
function judgeStream(refuse: (refusal: Refusal) => void): Transform {
  let held: Buffer[] = []
  let size = 0
  let version: string | undefined
  const hold = (bytes: Buffer) => {
    size += bytes.length
    // Discards a line that is too large, so that memory stays bounded.
    if (size <= MAX_BYTES) held.push(bytes)
    else held = []
  }
  const endLine = (judge: Transform) => {
    const text = Buffer.concat(held).toString()
    const isTooLarge = size > MAX_BYTES
    held = []
    size = 0
    const tooLarge = `the message is larger than ${formatBytes(MAX_BYTES)}`
    if (isTooLarge) return refuse(makeRefusal(ProtocolErrorCode.InvalidRequest, tooLarge))
    if (text.trim() === '') return
    const { messages, refusals } = judgeText(text, version)
    for (const message of messages) {
      version = requestedVersion(message) ?? version
      judge.push(`${JSON.stringify(message)}\n`)
    }
    refusals.forEach(refuse)
  }
  return new Transform({
    transform(chunk: Buffer, _, done) {
      let rest = chunk
      for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
        hold(rest.subarray(0, end))
        endLine(this)
        rest = rest.subarray(end + 1)
      }
      hold(rest)
      done()
    },
    flush(done) {
      endLine(this)
      done()
    },
  })
}

/** Returns the protocol version that an `initialize` message requests; undefined for any other message. */
function requestedVersion(message: unknown): string | undefined {
  const { method, params } = message as { method?: unknown; params?: { protocolVersion?: unknown } }
  const version = method === 'initialize' ? params?.protocolVersion : undefined
  return typeof version === 'string' ? version : undefined
}
