import { RejectedError, TransientError } from '../kit/errors.ts'
import type { Credentials } from '../store/vault/types.ts'
import type { SessionAccount } from './renew-tokens.ts'

/** The address of an endpoint below the base URL, which may have a path of its own. */
export function endpointUrl(baseUrl: string, path: string, query: Record<string, string> = {}): URL {
  const base = new URL(baseUrl)
  const url = new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`)
  url.search = new URLSearchParams(query).toString()
  return url
}

/** The address of one object below an endpoint; its path is one segment, whatever stands in it. */
export function objectUrl(
  baseUrl: string,
  folder: string,
  path: string,
  query: Record<string, string> = {},
): URL {
  // A segment of dots would climb up to another endpoint.
  if (path === '' || path === '.' || path === '..') {
    throw new RejectedError('bad_path', `GET ${folder.replace('/oauth/', '')}: "${path}" is not a path`)
  }
  // Through a Buffer, because encodeURIComponent throws at half a surrogate pair.
  return endpointUrl(baseUrl, `${folder}/${encodeURIComponent(Buffer.from(path).toString())}`, query)
}

/**
 * The address of a workout file as the service gave it, absolute or relative. Throws RejectedError `foreign_origin`
 * unless it lies on the base URL's own origin, and `bad_url` when it is no address.
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
