import { Socket } from 'node:net'

// For programs that a test loads before musette by NODE_OPTIONS. Plain JavaScript: a compiler would cost every process a second.

/**
 * Calls `onQuery(text, socket, send)` for each query that this process sends to Postgres; it returns what `send()` returns. The queries are read from
 * the connection, because the built program contains a driver of its own. The bytes after the first message of a write go with it.
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

/** The text of a message `Query` or `Parse`, with single spaces: https://www.postgresql.org/docs/current/protocol-message-formats.html */
function queryIn(bytes) {
  if (!Buffer.isBuffer(bytes) || bytes.length < 6) return undefined
  const type = String.fromCharCode(bytes[0])
  if ((type !== 'Q' && type !== 'P') || bytes.readInt32BE(1) >= bytes.length) return undefined
  const from = type === 'Q' ? 5 : bytes.indexOf(0, 5) + 1
  return bytes.toString('utf8', from, bytes.indexOf(0, from)).trim().replace(/\s+/g, ' ')
}
