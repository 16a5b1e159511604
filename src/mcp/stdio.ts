import { once } from 'node:events'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { errorLine } from '../kit/errors.ts'
import { type McpDeps, makeServerFactory } from './server.ts'

/** Serves one client on standard input and output, until the input ends or the signal aborts; running calls are cancelled. */
export async function serveStandardStreams(deps: McpDeps, signal: AbortSignal): Promise<void> {
  const onerror = (error: Error) =>
    deps.log.warn({ reason: errorLine(error) }, 'mcp: a message was not understood')
  const connection = serveStdio(makeServerFactory(deps), { onerror })
  const ended = new AbortController()
  const stop = { signal: AbortSignal.any([signal, ended.signal]) }
  try {
    // A client that is killed closes the input without an end.
    await Promise.race([once(process.stdin, 'end', stop), once(process.stdin, 'close', stop)]).catch(
      () => undefined,
    )
  } finally {
    ended.abort()
    await connection.close()
  }
}
