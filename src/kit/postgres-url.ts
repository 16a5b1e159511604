import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import type pg from 'pg'

/** Values of sslmode: libpq's values, and `no-verify`, which Node programs use. */
const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** Parameters of a connection URL that name files. */
const FILES = ['sslrootcert', 'sslcert', 'sslkey']

/** Value of sslrootcert for the authorities that the system trusts. */
const SYSTEM = 'system'

/** Returns what is wrong with the TLS parameters of a connection URL, as a predicate for a sentence about the URL. Returns undefined if nothing is wrong. */
export function tlsProblemOf(url: string): string | undefined {
  const parameters = new URL(url).searchParams
  const mode = parameters.get('sslmode')
  if (mode !== null && !MODES.includes(mode)) return `has an sslmode that is not one of ${MODES.join(', ')}`
  if (mode === 'verify-ca' && !parameters.has('sslrootcert'))
    return 'has sslmode=verify-ca, which needs sslrootcert=FILE; otherwise use sslmode=verify-full'
  const unreadable = FILES.find((name) => {
    const path = parameters.get(name)
    return path && path !== SYSTEM && !isReadable(path)
  })
  return unreadable && `has a file in ${unreadable} that cannot be read`
}

/**
 * Rewrites a connection URL so that the driver understands its `sslmode` as libpq does; by default the driver verifies the certificate in
 * every mode. `mayBePlain`: whether a server without TLS is accepted, as with `prefer` and `allow`. These two differ only if the server
 * offers both.
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

/** Makes a client continue without TLS if the server offers none. The driver has no option for this. */
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

/** Reports whether the driver's error means that the server offers no TLS. This error has no code, so its message decides. */
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

const ATTRS = 'target_session_attrs'
/** Values of target_session_attrs, with the SQL condition that a server must meet. */
const FITS: ReadonlyMap<string, string> = new Map([
  ['any', 'true'],
  ['read-write', "current_setting('transaction_read_only') = 'off'"],
  ['read-only', "current_setting('transaction_read_only') = 'on'"],
  ['primary', 'NOT pg_is_in_recovery()'],
  ['standby', 'pg_is_in_recovery()'],
  ['prefer-standby', 'true'],
])

/** The parts into which libpq splits a connection URL. No part contains the character that ends the part. */
const PARTS =
  /^(postgres(?:ql)?:\/\/)([^@/?#]*@)?([^@/?#]*)(?:\/([^@?#]*))?(?:\?(\w+=[^#&]*(?:&\w+=[^#&]*)*))?$/i
const HOST = /^(\[[\da-f:.]+\]|[^:[\]]*)(?::(\d*))?$/i

/**
 * Rewrites a connection URL that psql accepts (several hosts, a user without a host, `?dbname=`) so that URL and the driver can read it, and
 * psql still can: hosts and ports become parameters. Of several hosts the primary is used, unless the URL says otherwise. Returns undefined if
 * the string is not a URL that psql accepts.
 */
export function normalizePostgresUrl(text: string): string | undefined {
  const [, scheme, login = '', authority = '', path = '', query] = PARTS.exec(text) ?? []
  const parameters = new URLSearchParams(query)
  const hosts = authority.split(',').map((host) => HOST.exec(host))
  const isChoice = (parameters.get('host') ?? authority).includes(',') && !parameters.has(ATTRS)
  const isPlain = URL.canParse(text) && hosts.length === 1 && !parameters.has('dbname') && !isChoice
  if (scheme === undefined || /%(?![\da-f]{2})/i.test(text) || hosts.includes(null)) return undefined
  if (!FITS.has(parameters.get(ATTRS) ?? 'any')) return undefined
  if (isPlain) return text
  if (isChoice) parameters.set(ATTRS, 'primary')
  const lists = {
    host: hosts.map((host) => decodeURIComponent(host?.[1] ?? '').replace(/[[\]]/g, '')),
    port: hosts.map((host) => host?.[2] ?? ''),
  }
  for (const [name, values] of Object.entries(lists))
    if (values.some(Boolean) && !parameters.has(name)) parameters.set(name, values.join())
  const database = parameters.get('dbname') ?? decodeURIComponent(path)
  parameters.delete('dbname')
  return `${scheme}${login}localhost/${encodeURIComponent(database)}?${parameters}`.replaceAll('+', '%20')
}

/** Reads the hosts of a normalized URL, each with its own URL, and the SQL condition for a host; undefined if the URL gives no choice of hosts. */
export function readHosts(text: string) {
  if (!/[?&](?:target_session_attrs|host)=/.test(text)) return undefined
  const { searchParams, hostname, port } = new URL(text)
  const names = (searchParams.get('host') ?? hostname).split(',')
  const fits = FITS.get(searchParams.get(ATTRS) ?? '') ?? 'true'
  if (names.length === 1 && fits === 'true') return undefined
  const ports = (searchParams.get('port') ?? port).split(',')
  const hosts = names.map((host, index) => {
    const url = new URL(text)
    url.searchParams.delete(ATTRS)
    url.searchParams.set('host', host)
    url.searchParams.set('port', ports[index % ports.length] || '5432')
    return { host, port: Number(url.searchParams.get('port')), url: url.href.replaceAll('+', '%20') }
  })
  return { hosts, fits }
}
