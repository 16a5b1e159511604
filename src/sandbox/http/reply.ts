/** An answer that has not been sent yet, so that a planned failure can cut or drop it. */
export type Reply = { status: number; headers: Record<string, string>; body: Buffer }

export function makeReply(
  status: number,
  type: string,
  body: string | Buffer,
  headers: Reply['headers'] = {},
) {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return { status, headers: { 'content-type': type, ...headers }, body: bytes }
}

/** Makes a JSON answer from a value, or from a body that is already written. */
export function json(status: number, value: unknown, headers: Reply['headers'] = {}): Reply {
  const body = Buffer.isBuffer(value) ? value : writeJson(value)
  return makeReply(status, 'application/json; charset=utf-8', body, headers)
}

/** Characters that PHP escapes but JSON.stringify does not; an escape sequence counts as one character. */
const PHP_ESCAPES = /\\.|[/'&<>\u0080-\uffff]/g

/** Formats JSON as the service's PHP does: ASCII only, with the special characters of HTML escaped. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value).replace(PHP_ESCAPES, (text) => {
    if (text === '/') return '\\/'
    if (text === '\\"') return '\\u0022'
    if (text.startsWith('\\')) return text
    const code = text.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${code < '0080' ? code.toUpperCase() : code}`
  })
}

/** Makes an HTML page that may not be framed or cached. */
export function html(status: number, page: string): Reply {
  const safety = { 'x-frame-options': 'DENY', 'cache-control': 'no-store' }
  return makeReply(status, 'text/html; charset=utf-8', page, safety)
}

/** The page of an expired web session, sent with status 200. */
export const SIGN_IN_PAGE =
  '<!doctype html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>'

export function redirect(location: string, headers: Reply['headers'] = {}): Reply {
  return {
    status: 302,
    headers: { location, 'cache-control': 'no-store', ...headers },
    body: Buffer.alloc(0),
  }
}

export function refuse(status: number, error: string, headers: Reply['headers'] = {}): Reply {
  return json(status, { success: false, error }, headers)
}

/** Thrown to end the work early with this answer. */
export class ReplyError extends Error {
  override readonly name = 'ReplyError'
  readonly reply: Reply

  constructor(reply: Reply) {
    super(`answer ${reply.status}`)
    this.reply = reply
  }
}
