import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import type pg from 'pg'

/** The values of sslmode: those of libpq, and `no-verify` of other programs on Node. */
const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** The parameters of a connection URL that name files. */
const FILES = ['sslrootcert', 'sslcert', 'sslkey']

/** The value of sslrootcert for the authorities that the system trusts. */
const SYSTEM = 'system'

/** Returns what is wrong with the TLS parameters of a connection URL, as the end of a sentence about it; undefined when nothing is. */
export function tlsProblemOf(url: string): string | undefined {
  const parameters = new URL(url).searchParams
  const mode = parameters.get('sslmode')
  if (mode !== null && !MODES.includes(mode)) return `has an sslmode that is none of ${MODES.join(', ')}`
  if (mode === 'verify-ca' && !parameters.has('sslrootcert'))
    return 'has sslmode=verify-ca, which needs sslrootcert=FILE, or write sslmode=verify-full'
  const unreadable = FILES.find((name) => {
    const path = parameters.get(name)
    return path && path !== SYSTEM && !isReadable(path)
  })
  return unreadable && `names in ${unreadable} a file that cannot be read`
}

/**
 * Rewrites a connection URL so that the driver understands its `sslmode` as libpq does; by itself it verifies the certificate
 * in every mode. `mayBePlain` tells whether a server without TLS is good enough: with `prefer`, and with `allow`, which differs
 * from it only where the server offers both.
 */
export function readTlsMode(url: string): { url: string; mayBePlain: boolean } {
  const [, mode] = /[?&]sslmode=([^&#]*)/.exec(url) ?? []
  if (mode === undefined || mode === 'no-verify') return { url, mayBePlain: false }
  const ofSystem = /([?&])sslrootcert=system(?=&|#|$)/
  const strict = ofSystem.test(url) ? 'verify-full' : mode
  const written = url
    .replace(ofSystem, '$1')
    .replace(/([?&]sslmode=)[^&#]*/, `$1${mode === 'allow' ? 'prefer' : strict}&uselibpqcompat=true`)
  return { url: written, mayBePlain: mode === 'prefer' || mode === 'allow' }
}

/** Lets a client go on without TLS when the server offers none; the driver has no option for this. */
export function acceptPlain(client: pg.Client): void {
  const connection = client.connection as unknown as Connection
  const emit = connection.emit.bind(connection)
  connection.emit = (event, ...values) => {
    const isRefusal = event === 'error' && connection.ssl && isWithoutTls(values[0])
    if (!isRefusal) return emit(event, ...values)
    connection.stream.removeAllListeners().on('error', () => undefined)
    connection.stream.destroy()
    connection.stream = new Socket()
    connection.ssl = false
    Object.assign(client, { ssl: false })
    connection.connect(client.port, client.host)
    return true
  }
}

/** The parts of the driver's connection that a second attempt needs. */
type Connection = {
  emit(event: string, ...values: unknown[]): boolean
  connect(port: number, host: string): void
  stream: Socket
  ssl: unknown
}

/** Tells whether the driver's error says that the server offers no TLS; it has no code. */
export function isWithoutTls(error: unknown): boolean {
  return error instanceof Error && error.message === 'The server does not support SSL connections'
}

function isReadable(path: string): boolean {
  try {
    readFileSync(path)
    return true
  } catch {
    return false
  }
}
