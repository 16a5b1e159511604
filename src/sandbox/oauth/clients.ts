import { timingSafeEqual } from 'node:crypto'

/** A program that may ask for tokens, and how it may ask. */
export type Client = {
  id: string
  secret: string
  name: string
  grants: ReadonlyArray<'password' | 'refresh_token' | 'authorization_code'>
  /** Whether a redirect address is registered. */
  mayRedirect: (uri: string) => boolean
}

const PUBLIC_CLIENT: Client = {
  id: 'service_public',
  secret: 'service_public',
  name: 'Public client',
  grants: ['password', 'refresh_token'],
  mayRedirect: () => false,
}

const DEMO_APPLICATION: Client = {
  id: 'demo_app',
  secret: 'demo_secret',
  name: 'Demo Application',
  grants: ['authorization_code', 'refresh_token'],
  mayRedirect: isLoopback,
}

/** A client that is registered besides those that every sandbox has. */
export type FurtherClient = { id: string; secret: string; redirectUris?: readonly string[] }

/** Makes the clients of a sandbox; a further one may use every grant, and its redirect addresses are compared exactly. */
export function makeClients(further: readonly FurtherClient[]): Client[] {
  const registered = further.map(({ id, secret, redirectUris = [] }) => ({
    ...{ id, secret, name: id },
    grants: ['password', 'refresh_token', 'authorization_code'] as const,
    mayRedirect: (uri: string) => redirectUris.includes(uri),
  }))
  return [...registered, PUBLIC_CLIENT, DEMO_APPLICATION]
}

/** Finds a client by its id. */
export function findClient(clients: readonly Client[], id: string): Client | undefined {
  return clients.find((client) => client.id === id)
}

/**
 * Finds the client that a token request authenticates as: Basic credentials raw or percent-encoded (RFC 6749 §2.3.1),
 * or client_id and client_secret in the form. Undefined when nothing fits.
 */
export function authenticateClient(
  clients: readonly Client[],
  request: { authorization: string | undefined; form: URLSearchParams },
): Client | undefined {
  const { authorization, form } = request
  const match = (id: string, secret: string) => {
    const client = findClient(clients, id)
    return client && sameText(client.secret, secret) ? client : undefined
  }
  const basic = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(authorization ?? '')
  if (!authorization) return match(form.get('client_id') ?? '', form.get('client_secret') ?? '')
  if (!basic) return undefined
  const pair = Buffer.from(basic[1] as string, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  if (colon < 0) return undefined
  const [id, secret] = [pair.slice(0, colon), pair.slice(colon + 1)]
  return match(id, secret) ?? match(percentDecode(id), percentDecode(secret))
}

/** Compares secrets without telling by time how far they agree. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/** Any port and path on this machine, without fragment or credentials. */
function isLoopback(uri: string): boolean {
  if (!URL.canParse(uri)) return false
  const url = new URL(uri)
  const here = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
  return url.protocol === 'http:' && here && url.hash === '' && url.username === '' && url.password === ''
}
