import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/** Maximum length of a head that is filtered, bytes. undici gets a longer head as received and refuses it. */
const LONGEST_HEAD = 64 * 1024
/** An interim response, such as 100 Continue. 101 is final, so it does not match. */
const INTERIM = /^HTTP\/1\.\d 1(?!01)\d\d\b/
/** The position after a blank line. */
const BODY = /(?<=\r?\n\r?\n)/
const LENGTH = /^content-length[ \t]*:[ \t]*(.*?)[ \t]*\r?\n/gim
/** The error code for a server that answers HTTP/1.1 with HTTP/2 frames. */
export const HTTP2_ONLY = 'ERR_HTTP2_ONLY'

let isWatching = false
/** The part of a response head received so far, by connection; undefined while a body is received. */
const heads = new WeakMap<Socket, Buffer | undefined>()

/**
 * Changes the response heads that undici reads in this process, so that undici accepts them. Removes interim responses that were not requested
 * (RFC 9110 section 15.2), and reduces a Content-Length that is stated several times with one value (section 8.6) to one. A server that speaks
 * HTTP/2 ends the connection with ERR_HTTP2_ONLY.
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

/** Reduces equal Content-Length values to one. Keeps different values, so undici refuses the response. */
function stateLengthOnce(head: string): string {
  const lengths = new Set(
    [...head.matchAll(LENGTH)].flatMap(([, values = '']) => values.split(/[ \t]*,[ \t]*/)),
  )
  if (lengths.size !== 1) return head
  return head.replace(LENGTH, '').replace(/\r?\n$/, `Content-Length: ${[...lengths]}\r\n\r\n`)
}

/** Reports whether bytes begin with an HTTP/2 frame for the whole connection: SETTINGS or GOAWAY. */
function isHttp2(bytes: Buffer): boolean {
  return bytes.length >= 9 && [4, 7].includes(bytes[3] ?? 0) && bytes.readUInt32BE(5) === 0 && bytes[0] === 0
}
