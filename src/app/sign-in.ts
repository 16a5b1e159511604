import { randomBytes } from 'node:crypto'
import { ConfigError, commandFor } from '../kit/errors.ts'
import { isPlainHttp } from '../kit/loopback.ts'
import { type Account, findAccount } from '../store/account-rows.ts'
import type { TokenPair } from '../store/vault/types.ts'
import type { App } from './app.ts'
import { parkIfDamaged } from './unreadable-logins.ts'

type Client = { clientId: string; clientSecret: string }

/** Signs in with the rider's own name and password; the password is kept, sealed, only when asked to. */
export async function signInWithPassword(
  app: Pick<App, 'config' | 'service' | 'store' | 'vault'>,
  input: { name: string; username: string; password: string; keepPassword: boolean; signal?: AbortSignal },
): Promise<Account> {
  const { username, password } = input
  const { clientId, clientSecret } = app.config.service
  const client = { clientId, clientSecret, baseUrl: await baseUrlOf(app, input.name) }
  const pair = await app.service.passwordGrant(client, { username, password }, input.signal)
  return saveLogin(app, input.name, client, pair, { username, ...(input.keepPassword && { password }) })
}

/** Finds the address that a login of an account would go to in the clear; undefined where nobody on the way can read it. */
export async function findPlainAddress(
  app: Pick<App, 'config' | 'store'>,
  name: string,
): Promise<string | undefined> {
  const baseUrl = await baseUrlOf(app, name)
  return isPlainHttp(baseUrl) ? baseUrl : undefined
}

/** An authorization code login under way: where the rider's browser goes, and what finishes it. */
type BrowserLogin = {
  authorizeUrl: string
  state: string
  /** Exchanges the code for tokens and stores them; throws when `state` is not the one that was sent. */
  finish(answer: { code: string; state: string | undefined }, signal?: AbortSignal): Promise<Account>
}

/**
 * Begins the authorization code flow (service document, endpoint 2) with a fresh, unguessable `state`. Throws ConfigError
 * `authorize_refused` when the service refuses the client or the redirect address.
 */
export async function beginBrowserLogin(
  app: Pick<App, 'config' | 'service' | 'store' | 'vault'>,
  input: { name: string; client: Client; redirectUri: string; signal?: AbortSignal },
): Promise<BrowserLogin> {
  const client = { ...input.client, baseUrl: await baseUrlOf(app, input.name) }
  const { redirectUri } = input
  const refusal = await app.service.fetchAuthorizeRefusal(client, { redirectUri }, input.signal)
  if (refusal !== undefined) {
    const message = `the service refuses the redirect address ${redirectUri} or the client id "${client.clientId}" (${refusal}); run: musette login --browser --client-id ID --redirect-uri URI, with both as they are registered there`
    throw new ConfigError('authorize_refused', message)
  }
  const state = randomBytes(24).toString('base64url')
  return {
    authorizeUrl: app.service.authorizeUrl(client, { redirectUri, state }),
    state,
    async finish(answer, signal) {
      if (answer.state !== state) {
        throw new ConfigError(
          'state_mismatch',
          'the answer does not belong to this login; run: musette login --browser',
        )
      }
      const pair = await app.service.authorizationCodeGrant(
        client,
        { code: answer.code, redirectUri },
        signal,
      )
      return saveLogin(app, input.name, client, pair, {})
    },
  }
}

/** Forgets the tokens of an account; what is mirrored stays. */
export async function signOut(app: Pick<App, 'store' | 'vault'>, name: string): Promise<Account> {
  const account = await accountNamed(app, name)
  await app.vault.forget(account.accountId)
  return account
}

/** Finds an account by name; a ConfigError with code `no_account` says how to make it. */
export async function accountNamed(app: Pick<App, 'store'>, name: string): Promise<Account> {
  const account = await app.store.read((tx) => findAccount(tx, name))
  if (account) return account
  throw new ConfigError('no_account', `there is no account "${name}" yet; run: ${commandFor('login', name)}`)
}

/** Finds an account by name whose login opens: one that does not is an UnreadableLoginError before anything is touched. */
export async function accountToUse(app: Pick<App, 'store' | 'vault'>, name: string): Promise<Account> {
  const account = await accountNamed(app, name)
  try {
    await app.vault.read(account.accountId)
  } catch (error) {
    await parkIfDamaged(app, error)
    throw error
  }
  return account
}

/** The address in the environment, else the one the account was signed in to before. */
async function baseUrlOf(app: Pick<App, 'config' | 'store'>, name: string): Promise<string> {
  const baseUrl = app.config.service.baseUrl ?? (await app.store.read((tx) => findAccount(tx, name)))?.baseUrl
  if (baseUrl) return baseUrl
  throw new ConfigError('no_base_url', 'MUSETTE_BASE_URL is not set; set it to the address of the service')
}

async function saveLogin(
  app: Pick<App, 'vault'>,
  name: string,
  client: Client & { baseUrl: string },
  pair: TokenPair,
  person: { username?: string; password?: string },
): Promise<Account> {
  const { clientId, clientSecret, baseUrl } = client
  return app.vault.saveLogin({ name, baseUrl }, { clientId, clientSecret, pair, ...person })
}
