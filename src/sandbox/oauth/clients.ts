import { isLoopback } from '../../kit/loopback.ts'

/** A program that may request tokens, and its grants. */
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
  mayRedirect: isOfThisMachine,
}

/** A client that only this sandbox has. */
export type RegisteredClient = { id: string; secret: string; redirectUris?: readonly string[] }

/** Returns the clients of a sandbox; a further one may use every grant, and its redirect addresses are compared exactly. */
export function clientsOf(further: readonly RegisteredClient[]): Client[] {
  const registered = further.map(({ id, secret, redirectUris = [] }) => ({
    ...{ id, secret, name: id },
    grants: ['password', 'refresh_token', 'authorization_code'] as const,
    mayRedirect: (uri: string) => redirectUris.includes(uri),
  }))
  return [...registered, PUBLIC_CLIENT, DEMO_APPLICATION]
}

/** Accepts any port and path on this machine, without fragment or credentials. */
function isOfThisMachine(uri: string): boolean {
  if (!URL.canParse(uri)) return false
  const { protocol, hostname, hash, username, password } = new URL(uri)
  return protocol === 'http:' && isLoopback(hostname) && `${hash}${username}${password}` === ''
}
