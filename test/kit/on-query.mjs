import { Socket } from 'node:net'

// For scripts that a test loads before musette through NODE_OPTIONS. Plain JavaScript, because a compiler would cost every process a
// second.

/**
 * Calls `onQuery(text, socket, send)` for each query that this process sends to Postgres. `onQuery` returns the result of `send()`. Reads
 * the queries from the connection, because the built program contains its own driver. Bytes after the first message of a write are sent
 * with it.
 */
export function watchQueries(onQuery) {
  const { write } = Socket.prototype
  Socket.prototype.write = function (...args) {
    const send = () => Reflect.apply(write, this, args)
    const text = queryIn(args[0])
    if (text === undefined) return send()
    return onQuery(text, this, send)
  }
}

/**
 * Returns the text of a `Query` or `Parse` message, with single spaces:
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
function queryIn(bytes) {
  if (!Buffer.isBuffer(bytes) || bytes.length < 6) return undefined
  const type = String.fromCharCode(bytes[0])
  if ((type !== 'Q' && type !== 'P') || bytes.readInt32BE(1) >= bytes.length) return undefined
  const from = type === 'Q' ? 5 : bytes.indexOf(0, 5) + 1
  return bytes.toString('utf8', from, bytes.indexOf(0, from)).trim().replace(/\s+/g, ' ')
}
