import { randomBytes } from 'node:crypto'
import { ConfigError } from '../kit/errors.ts'
import { isPlainHttp } from '../kit/loopback.ts'
import { recordHome, recordHomeOfOthers } from '../mirror/time-zones.ts'
import type { TokenPair } from '../service/credentials.ts'
import { type Account, findAccount, type HeartRates, recordHeartRates } from '../store/account-rows.ts'
import type { App } from './app.ts'
import { accountNamed } from './local-app.ts'

type SignInApp = Pick<App, 'config' | 'log' | 'service' | 'store' | 'vault'>

type Client = { clientId: string; clientSecret: string }

/**
 * Signs in by the password grant (service document, endpoint 1) and stores the tokens; the password is stored, sealed, only with
 * `keepPassword`. Throws CredentialsRejectedError when the service refuses them, and ConfigError `no_base_url`.
 */
export async function signInWithPassword(
  app: SignInApp,
  input: { name: string; username: string; password: string; keepPassword: boolean; signal?: AbortSignal },
): Promise<Account> {
  const { username, password } = input
  const { clientId, clientSecret } = app.config.service
  const client = { clientId, clientSecret, baseUrl: await baseUrlOf(app, input.name) }
  const pair = await app.service.passwordGrant(client, { username, password }, input.signal)
  return saveLogin(app, input.name, client, pair, { username, ...(input.keepPassword && { password }) })
}

/** Finds the address that a login would send passwords or tokens to without encryption; undefined for https or this machine. */
export async function findPlainAddress(
  app: Pick<App, 'config' | 'store'>,
  name: string,
): Promise<string | undefined> {
  const baseUrl = await baseUrlOf(app, name)
  return isPlainHttp(baseUrl) ? baseUrl : undefined
}

/** An authorization code login that has begun: `authorizeUrl` is for the rider's browser. */
type BrowserLogin = {
  authorizeUrl: string
  state: string
  /** Exchanges the code for tokens and stores them. Throws ConfigError `state_mismatch` for an answer to another login. */
  finish(answer: { code: string; state: string | undefined }, signal?: AbortSignal): Promise<Account>
}

/**
 * Begins the authorization code flow (service document, endpoint 2) with a new random `state`. Throws ConfigError
 * `authorize_refused` when the service refuses the client or the redirect address.
 */
export async function beginBrowserLogin(
  app: SignInApp,
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

/** Deletes the tokens of an account and keeps its mirror. Throws ConfigError `no_account`. */
export async function signOut(app: Pick<App, 'store' | 'vault'>, name: string): Promise<Account> {
  const account = await accountNamed(app, name)
  await app.vault.forget(account.accountId)
  return account
}

/**
 * Sets the time zone of an account's home, an IANA name, or takes it back with null. Returns how many activities have another wall
 * clock by it. Throws ConfigError `no_account` and `bad_timezone`.
 */
export async function setHomeTimezone(
  app: Pick<App, 'store' | 'log'>,
  { name, timezone }: { name: string; timezone: string | null },
): Promise<number> {
  const { accountId } = await accountNamed(app, name)
  return recordHome(app, { accountId, timezone })
}

/**
 * Sets heart rates of an account's rider, 1/min, or takes them back with null; one that is left out stays. Returns both as they are
 * now. Throws ConfigError `no_account` and `bad_heart_rates`.
 */
export async function setHeartRates(
  app: Pick<App, 'store'>,
  { name, ...change }: { name: string } & Partial<HeartRates>,
): Promise<HeartRates> {
  const { accountId, restingHr, maxHr } = await accountNamed(app, name)
  const rates = { restingHr, maxHr, ...change }
  if (rates.restingHr !== null && rates.maxHr !== null && rates.restingHr >= rates.maxHr)
    throw new ConfigError('bad_heart_rates', 'the highest heart rate must be above the resting one')
  await app.store.transaction((tx) => recordHeartRates(tx, { accountId, ...rates }))
  return rates
}

/** Finds the service's base URL: from the environment, else from the account's last login. Throws ConfigError `no_base_url`. */
async function baseUrlOf(app: Pick<App, 'config' | 'store'>, name: string): Promise<string> {
  const baseUrl = app.config.service.baseUrl ?? (await app.store.read((tx) => findAccount(tx, name)))?.baseUrl
  if (baseUrl) return baseUrl
  throw new ConfigError('no_base_url', 'MUSETTE_BASE_URL is not set; set it to the address of the service')
}

async function saveLogin(
  app: SignInApp,
  name: string,
  client: Client & { baseUrl: string },
  pair: TokenPair,
  person: { username?: string; password?: string },
): Promise<Account> {
  const { clientId, clientSecret, baseUrl } = client
  const account = await app.vault.saveLogin({ name, baseUrl }, { clientId, clientSecret, pair, ...person })
  const { timezone } = app.config
  if (timezone !== undefined) await recordHomeOfOthers(app, timezone)
  return account
}
