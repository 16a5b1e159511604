import { randomBytes } from 'node:crypto'
import { TransientError } from '../../kit/errors.ts'
import type { CallDeps } from '../calls.ts'
import { parseQuietly } from '../errors.ts'
import type { RawAnswer, ServiceRequest } from '../transport/message.ts'
import { send } from '../transport/transport.ts'
import { parseOAuthError } from '../wire/token.ts'
import { type ClientCredentials, makeAuthorizeUrl } from './grants.ts'

/**
 * Asks for the page that begins a login, as a browser would and without following it (service document, endpoint 2), because a
 * service that refuses the client or the redirect address says so on a page and never redirects (RFC 6749 section 4.1.2.1).
 * Returns the refusal as a few words; undefined when there is none, or when the answer does not tell. Throws TransientError
 * `connect_failed`.
 */
export async function findAuthorizeRefusal(
  deps: Pick<CallDeps, 'transport'>,
  input: { client: Pick<ClientCredentials, 'baseUrl' | 'clientId'>; redirectUri: string },
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { client, redirectUri } = input
  // Of its own: the state of the login is for one answer.
  const state = randomBytes(24).toString('base64url')
  const request: ServiceRequest = {
    method: 'GET',
    endpoint: 'GET /oauth/authorize',
    url: new URL(makeAuthorizeUrl(client, { redirectUri, state })),
    what: 'GET authorize',
    authorization: undefined,
    redirects: 'manual',
    totalMs: deps.transport.options.timeouts.tokenMs,
  }
  try {
    return refusalOf(await send(deps.transport, request, signal), redirectUri)
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof TransientError && error.code === 'connect_failed') throw error
    return undefined
  }
}

/** Only 400 and an OAuth error are a refusal: a 403 may be for programs that are no browser. */
function refusalOf(answer: RawAnswer, redirectUri: string): string | undefined {
  const { location } = answer.headers
  const sentBack = location?.startsWith(redirectUri) && URL.canParse(location) ? new URL(location) : undefined
  const word = sentBack?.searchParams.get('error') ?? parseOAuthError(parseQuietly(answer))
  if (word !== undefined && answer.status < 500) return /^[a-z_]{1,60}$/.test(word) ? word : 'an error'
  return answer.status === 400 ? 'status 400' : undefined
}
