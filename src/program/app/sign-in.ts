import { randomBytes } from 'node:crypto'
import { retryWhenRateLimited } from '../../core/mirror/mirror.ts'
import { recordHome, recordHomeOfOthers } from '../../core/mirror/time-zones.ts'
import { otherRider } from '../../core/service/account-login.ts'
import type { TokenPair } from '../../core/service/credentials.ts'
import {
  type Account,
  findAccount,
  findAccounts,
  type HeartRates,
  recordHeartRates,
} from '../../core/store/account-rows.ts'
import { ConfigError, errorCode } from '../../kit/errors.ts'
import { isPlainHttp } from '../../kit/loopback.ts'
import type { App } from './app.ts'
import { accountNamed } from './local-app.ts'

type SignInApp = Pick<App, 'config' | 'log' | 'service' | 'store' | 'vault'>

type Client = { clientId: string; clientSecret: string }

/** With `sameRider`, the login continues even without evidence that it belongs to the account's rider. */
type LoginInput = { name: string; sameRider?: boolean | undefined; signal?: AbortSignal }

/**
 * Signs in by the password grant (service document, endpoint 1) and stores the tokens; stores the password, sealed, only with
 * `keepPassword`. Throws CredentialsRejectedError if the service refuses the credentials, and as compareRider does, and ConfigError
 * `no_base_url`.
 */
export async function signInWithPassword(
  app: SignInApp,
  input: LoginInput & { username: string; password: string; keepPassword: boolean },
): Promise<Account> {
  const { username, password } = input
  const { clientId, clientSecret } = app.config.service
  const client = { clientId, clientSecret, baseUrl: await baseUrlOf(app, input.name) }
  const pair = await app.service.requestLogin(client, { type: 'password', username, password }, input.signal)
  return saveLogin(app, input, client, pair, { username, ...(input.keepPassword && { password }) })
}

/** Signs in as signInWithPassword does, and waits as long as the service asks. */
export function signInWhenAllowed(...args: Parameters<typeof signInWithPassword>): Promise<Account> {
  return retryWhenRateLimited(args[0], () => signInWithPassword(...args))
}

export async function findSignedIn({ store }: Pick<App, 'store'>): Promise<Set<string>> {
  const accounts = await store.read(findAccounts)
  return new Set(accounts.flatMap(({ name, needsLogin }) => (needsLogin ? [] : [name])))
}

/** Warns before a login that would send secrets unencrypted to another machine. Throws ConfigError `no_base_url`. */
export async function notePlainAddress(
  app: Pick<App, 'config' | 'store'>,
  { name, secrets, note }: { name: string; secrets: string; note: (line: string) => void },
): Promise<void> {
  const baseUrl = await baseUrlOf(app, name)
  if (!isPlainHttp(baseUrl)) return
  note(
    `musette: ${baseUrl} is not https, so anybody on the way can read ${secrets}; stop here and set MUSETTE_BASE_URL=https://… unless you trust this network`,
  )
}

/**
 * Begins the authorization code flow (service document, endpoint 2) with a new random `state`; `authorizeUrl` is for the rider's browser.
 * Throws ConfigError `authorize_refused` if the service refuses the client or the redirect address.
 */
export async function beginBrowserLogin(
  app: SignInApp,
  input: LoginInput & { client: Client; redirectUri: string },
) {
  const client = { ...input.client, baseUrl: await baseUrlOf(app, input.name) }
  const { redirectUri } = input
  const refusal = await app.service.fetchAuthorizeRefusal(client, { redirectUri }, input.signal)
  if (refusal !== undefined) {
    const message = `the service refuses the redirect address ${redirectUri} or the client id "${client.clientId}" (${refusal}); run: musette login --browser --client-id ID --redirect-uri URI, with both as registered at the service`
    throw new ConfigError('authorize_refused', message)
  }
  const state = randomBytes(24).toString('base64url')
  return {
    authorizeUrl: app.service.authorizeUrl(client, { redirectUri, state }),
    state,
    /** Exchanges the code for tokens and stores them. Throws ConfigError `state_mismatch` if the answer belongs to another login. */
    async finish(
      answer: { code: string; state: string | undefined },
      signal?: AbortSignal,
    ): Promise<Account> {
      if (answer.state !== state) {
        const message = 'the answer does not belong to this login; run: musette login --browser'
        throw new ConfigError('state_mismatch', message)
      }
      const grant = { type: 'authorization_code', code: answer.code, redirectUri } as const
      const pair = await app.service.requestLogin(client, grant, signal)
      return saveLogin(app, input, client, pair, {})
    },
  }
}

/** Deletes an account's tokens and keeps its mirror. Throws ConfigError `no_account`. */
export async function signOut(app: Pick<App, 'store' | 'vault'>, name: string): Promise<void> {
  const { accountId } = await accountNamed(app, name)
  await app.vault.forget(accountId)
}

/**
 * Sets the time zone of an account's home, an IANA name, or clears it with null. Returns how many activities got a new local time. Throws
 * ConfigError `no_account` and `bad_timezone`.
 */
export async function setHomeTimezone(
  app: Pick<App, 'store' | 'log'>,
  { name, timezone }: { name: string; timezone: string | null },
): Promise<number> {
  const { accountId } = await accountNamed(app, name)
  return recordHome(app, { accountId, timezone })
}

/**
 * Sets the heart rates of an account's rider, bpm, or clears a rate with null; an omitted rate stays. Returns both current rates. Throws
 * ConfigError `no_account` and `bad_heart_rates`.
 */
export async function setHeartRates(
  app: Pick<App, 'store'>,
  { name, ...change }: { name: string } & Partial<HeartRates>,
): Promise<HeartRates> {
  const { accountId, restingHr, maxHr } = await accountNamed(app, name)
  const rates = { restingHr, maxHr, ...change }
  if (rates.restingHr !== null && rates.maxHr !== null && rates.restingHr >= rates.maxHr)
    throw new ConfigError('bad_heart_rates', 'the maximum heart rate must be above the resting heart rate')
  await app.store.transaction((tx) => recordHeartRates(tx, { accountId, ...rates }))
  return rates
}

/** Finds the service's base URL: from the environment, or else from the account's last login. Throws ConfigError `no_base_url`. */
async function baseUrlOf(app: Pick<App, 'config' | 'store'>, name: string): Promise<string> {
  const baseUrl = app.config.service.baseUrl ?? (await app.store.read((tx) => findAccount(tx, name)))?.baseUrl
  if (baseUrl) return baseUrl
  throw new ConfigError('no_base_url', 'MUSETTE_BASE_URL is not set; set it to the address of the service')
}

async function saveLogin(
  app: SignInApp,
  input: LoginInput,
  client: Client & { baseUrl: string },
  pair: TokenPair,
  person: { username?: string; password?: string },
): Promise<Account> {
  const { clientId, clientSecret, baseUrl } = client
  const rider = await compareRider(app, input, { baseUrl, pair, username: person.username })
  const login = { clientId, clientSecret, pair, ...person }
  const account = await app.vault.saveLogin({ name: input.name, baseUrl }, login, rider)
  const { timezone } = app.config
  if (timezone !== undefined) await recordHomeOfOthers(app, timezone)
  return account
}

/**
 * Compares a login with the account. Returns `same` if the user name matches or the service lists one of the account's activities,
 * `accepted` if there is nothing to compare, and `unknown` if the service does not answer now. Throws CredentialsRejectedError
 * `other_rider`.
 */
async function compareRider(
  app: Pick<App, 'log' | 'service' | 'store' | 'vault'>,
  { name, sameRider, signal }: LoginInput,
  login: { baseUrl: string; pair: TokenPair; username: string | undefined },
): Promise<'same' | 'accepted' | 'unknown'> {
  const { baseUrl, username, pair } = login
  const account = await app.store.read((tx) => findAccount(tx, name))
  if (!account) return 'accepted'
  const { origin } = new URL(baseUrl)
  const evidence = await app.vault.findEvidence(account.accountId, { origin, username })
  if (evidence.name === 'same') return 'same'
  if (sameRider) return 'accepted'
  const refusal = otherRider(name, 'nothing was changed')
  if (evidence.paths.length === 0) {
    if (evidence.name === 'other' && evidence.holdsRows) throw refusal
    return 'accepted'
  }
  try {
    if (await app.service.listsOneOf({ baseUrl, accessToken: pair.accessToken, evidence }, signal))
      return 'same'
  } catch (error) {
    signal?.throwIfAborted()
    app.log.warn({ account: name, code: errorCode(error) }, 'the first pass will compare the rider')
    return 'unknown'
  }
  throw refusal
}
