import { RejectedError, TransientError } from '../kit/errors.ts'
import type { Credentials } from '../store/vault/types.ts'
import type { SessionAccount } from './refresh-tokens.ts'

/** Makes the URL of an endpoint; the base URL may have a path. */
export function endpointUrl(baseUrl: string, path: string, query: Record<string, string> = {}): URL {
  const base = new URL(baseUrl)
  const url = new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`)
  url.search = new URLSearchParams(query).toString()
  return url
}

/**
 * Makes the URL of one object below an endpoint (service document, endpoints 7 and 8); the object's path is escaped to one
 * segment. Throws RejectedError `bad_path` for an empty path and for dots.
 */
export function objectUrl(
  baseUrl: string,
  folder: string,
  path: string,
  query: Record<string, string> = {},
): URL {
  // URL resolves segments of dots, so the request would go to another endpoint.
  if (path === '' || path === '.' || path === '..') {
    throw new RejectedError('bad_path', `GET ${folder.replace('/oauth/', '')}: "${path}" is not a path`)
  }
  // The Buffer replaces unpaired surrogates, at which encodeURIComponent throws.
  return endpointUrl(baseUrl, `${folder}/${encodeURIComponent(Buffer.from(path).toString())}`, query)
}

/**
 * Makes the URL of a workout file (service document, endpoint 4) from the service's address, absolute or relative. `what` is the
 * request, for messages. Throws RejectedError `foreign_origin` for another origin than the base URL's, and `bad_url` for a
 * text that is not a URL.
 */
export function fileUrl(baseUrl: string, address: string, what: string): URL {
  const base = endpointUrl(baseUrl, '/')
  if (!URL.canParse(address, base.href))
    throw new RejectedError('bad_url', `${what}: the address cannot be read`)
  const url = new URL(address, base)
  if (url.origin === base.origin) return url
  throw new RejectedError('foreign_origin', `${what}: the address does not belong to the service`)
}

/**
 * Throws TransientError `account_moved` when the tokens were made by another service than the one at the account's address: the
 * account was signed in elsewhere after its row was read. It is transient because the next read of the row has the new address.
 */
export function assertOrigin(account: SessionAccount, credentials: Credentials): void {
  if (credentials.origin === new URL(account.baseUrl).origin) return
  const message = `account "${account.name}" is signed in at another address since this began; the next attempt goes there`
  throw new TransientError('account_moved', message)
}
