import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/** A longer head is left to undici, which refuses it, bytes. */
const LONGEST_HEAD = 64 * 1024
/** An interim answer, such as 100 Continue; 101 is the last one. */
const INTERIM = /^HTTP\/1\.\d 1(?!01)\d\d\b/
/** The place after a blank line. */
const BODY = /(?<=\r?\n\r?\n)/
const LENGTH = /^content-length[ \t]*:[ \t]*(.*?)[ \t]*\r?\n/gim
/** The code of a server that answers HTTP/1.1 with frames of HTTP/2. */
export const HTTP2_ONLY = 'ERR_HTTP2_ONLY'

let isWatching = false
/** What has come of a head, by the connection; undefined in a body. */
const heads = new WeakMap<Socket, Buffer | undefined>()

/**
 * Gives undici the heads of answers as it takes them, in this process: without interim answers that were not asked for (RFC 9110 section 15.2),
 * and with a Content-Length that is stated several times with one value (section 8.6) once. A server that speaks HTTP/2 ends the
 * connection with ERR_HTTP2_ONLY.
 */
export function watchAnswerHeads(): void {
  if (isWatching) return
  isWatching = true
  subscribe('undici:client:sendHeaders', (message) => {
    const { socket } = message as { socket: Socket }
    if (!heads.has(socket)) filterReads(socket)
    heads.set(socket, Buffer.alloc(0))
  })
}

function filterReads(socket: Socket): void {
  const read = socket.read.bind(socket)
  socket.read = (size?: number) => {
    const [chunk, begun]: [Buffer | null, Buffer | undefined] = [read(size), heads.get(socket)]
    if (chunk === null || begun === undefined) return chunk
    const came = Buffer.concat([begun, chunk])
    if (isHttp2(came)) socket.destroy(Object.assign(new Error('HTTP/2 only'), { code: HTTP2_ONLY }))
    let text = came.toString('latin1')
    let end = text.search(BODY)
    for (; end >= 0 && INTERIM.test(text); end = text.search(BODY)) text = text.slice(end)
    const isOpen = end < 0 && text.length < LONGEST_HEAD && 'HTTP/1.'.startsWith(text.slice(0, 7))
    heads.set(socket, isOpen ? Buffer.from(text, 'latin1') : undefined)
    return isOpen
      ? null
      : Buffer.from(end < 0 ? text : stateLengthOnce(text.slice(0, end)) + text.slice(end), 'latin1')
  }
}

/** States equal lengths once; of different ones undici refuses the answer. */
function stateLengthOnce(head: string): string {
  const lengths = new Set(
    [...head.matchAll(LENGTH)].flatMap(([, values = '']) => values.split(/[ \t]*,[ \t]*/)),
  )
  if (lengths.size !== 1) return head
  return head.replace(LENGTH, '').replace(/\r?\n$/, `Content-Length: ${[...lengths]}\r\n\r\n`)
}

/** Tells whether bytes begin with a frame of HTTP/2 for the whole connection: SETTINGS or GOAWAY. */
function isHttp2(bytes: Buffer): boolean {
  return bytes.length >= 9 && [4, 7].includes(bytes[3] ?? 0) && bytes.readUInt32BE(5) === 0 && bytes[0] === 0
}
