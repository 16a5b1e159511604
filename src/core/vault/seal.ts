import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { ConfigError, commandFor } from '../../kit/errors.ts'
import type { Credentials, Refusals, TokenPair } from '../service/credentials.ts'
import type { accounts, credentials } from '../store/schema/index.ts'

/** Encrypts strings with AES-256-GCM. A sealed value can be decrypted only for its own account and field, and contains the origin of its service. */
export type Sealer = Readonly<ReturnType<typeof makeSealer>>

type SealPlace = Readonly<{ accountId: number; field: string }>

const KEY_BYTES = 32
/** The first byte of a sealed value. The plaintext is the origin, a line break and the string. */
const VERSION = 2
// 96 bits, the nonce size that GCM is designed for. Nonces are random, because one key encrypts only a few values.
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Makes a sealer from a 32-byte key. A sealed value is the version byte, the nonce, the tag and the ciphertext. */
export function makeSealer(secretKey: Buffer) {
  if (secretKey.length !== KEY_BYTES) {
    const message = `the secret key has ${secretKey.length} bytes and needs ${KEY_BYTES}; correct MUSETTE_SECRET_KEY`
    throw new ConfigError('secret_key_length', message)
  }
  const hashKey = createHmac('sha256', secretKey).update('musette rider').digest()
  return {
    keyId: keyIdOf(secretKey),
    /** Returns the HMAC-SHA-256 of a text with a derived key. */
    hash: (text: string) => createHmac('sha256', hashKey).update(text).digest(),
    seal(text: string, { origin, ...place }: SealPlace & Readonly<{ origin: string }>) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', secretKey, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(boundTo(place))
      const body = Buffer.concat([cipher.update(`${origin}\n${text}`, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.getAuthTag(), body])
    },
    /** Throws UnreadableLoginError `login_damaged` if the key, the place or a byte of the value differs. */
    open(sealed: Buffer, place: SealPlace) {
      const isWhole = sealed.length >= 1 + NONCE_BYTES + TAG_BYTES
      if (!isWhole || sealed[0] !== VERSION) throw new UnreadableLoginError('login_damaged', place)
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', secretKey, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(boundTo(place))
      decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES))
      try {
        const body = decipher.update(sealed.subarray(1 + NONCE_BYTES + TAG_BYTES))
        const [origin = '', ...lines] = Buffer.concat([body, decipher.final()]).toString('utf8').split('\n')
        return { text: lines.join('\n'), origin }
      } catch {
        throw new UnreadableLoginError('login_damaged', place)
      }
    },
  }
}

/** Returns the id of a key, which does not reveal the key. */
export function keyIdOf(secretKey: Buffer): string {
  return createHash('sha256').update(secretKey).digest('hex').slice(0, 8)
}

function boundTo({ accountId, field }: SealPlace): Buffer {
  return Buffer.from(`musette ${VERSION} ${accountId} ${field}`, 'utf8')
}

/** `readKeys` reads the present keys, the key in use first; `readOldKey` reads a replaced key; `makeFirst` creates the first key. */
export type KeyOptions = Readonly<{
  secretKey?: Buffer | undefined
  readKeys?: () => readonly Buffer[]
  readOldKey?: (keyId: string) => Buffer | undefined
  makeFirst?: () => Buffer
}>

/** The keys that this process knows. It finds the keys of another process's rotation without a restart. */
export type Keyring = ReturnType<typeof makeKeyring>

/** Makes the keyring. Throws ConfigError `secret_key_length` if a key does not have 32 bytes. */
export function makeKeyring(options: KeyOptions) {
  const known = new Map<string, Sealer>()
  const learn = (key: Buffer): Sealer => {
    const sealer = makeSealer(key)
    known.set(sealer.keyId, sealer)
    return sealer
  }
  const first = options.secretKey && [learn(options.secretKey)]
  const readSealers = (): Sealer[] => {
    const sealers = options.readKeys?.().map(learn) ?? []
    return sealers.length > 0 ? sealers : (first ?? [])
  }
  return {
    /** Returns the sealer of a row or a spool file. Throws UnreadableLoginError `secret_key_mismatch` if its key is unknown. */
    sealerOf({ accountId, keyId }: Readonly<{ accountId: number; keyId: string }>): Sealer {
      if (!known.has(keyId)) readSealers()
      const old = known.has(keyId) ? undefined : options.readOldKey?.(keyId)
      const sealer = old ? learn(old) : known.get(keyId)
      if (!sealer) throw new UnreadableLoginError('secret_key_mismatch', { accountId })
      return sealer
    },
    /**
     * Returns the sealer for a new login; `used` has the ids of the keys that encrypt the rows now. Creates the first key if there is none.
     * Throws ConfigError `secret_key_lost` if the login of the account `other` needs a lost key.
     */
    sealerForNew(used: ReadonlySet<string>, other?: string): Sealer {
      const sealers = readSealers()
      // Without rows, uses the newest key, because a running rotation removes the other one.
      const sealer = sealers.find(({ keyId }) => used.has(keyId)) ?? sealers.at(-1)
      if (sealer) return sealer
      if (other === undefined && options.makeFirst) return learn(options.makeFirst())
      const message = `the key that sealed the login of account "${other}" is lost; put its file back, or give up that login and run: ${commandFor('logout', other ?? '')}`
      throw new ConfigError('secret_key_lost', message)
    },
  }
}

/** How to restore a key that encrypts logins, for the middle of a sentence. */
export const KEY_BACK = 'run: musette key import FILE, or set MUSETTE_SECRET_KEY'

/** The reasons why an account's tokens cannot be read, each with its message. */
const SENTENCES = {
  secret_key_mismatch: (who: string) =>
    `the tokens of ${who} were sealed with another key and stay unchanged; ` +
    `put that key in place (${KEY_BACK}) and start musette again, or sign in again`,
  login_damaged: (who: string) => `the tokens of ${who} are damaged in the database`,
  login_elsewhere: (who: string) =>
    `the tokens of ${who} were issued at another address than the account's, so they are not sent there`,
  spool_damaged: (who: string, file: string) =>
    `the file ${file} with the newest tokens of ${who} is damaged`,
  spool_unreadable: (who: string, file: string) =>
    `the file ${file} with the newest tokens of ${who} cannot be read; correct its owner and mode, or sign in again`,
}

type UnreadableCode = keyof typeof SENTENCES

/** Thrown if the tokens of one account cannot be read; other accounts are not affected. */
export class UnreadableLoginError extends ConfigError {
  declare readonly code: UnreadableCode
  readonly accountId: number

  constructor(code: UnreadableCode, account: { accountId: number; name?: string }, options?: ErrorOptions) {
    const { accountId, name } = account
    const who = name === undefined ? `account ${accountId}` : `account "${name}"`
    const command = name === undefined ? 'musette login ACCOUNT' : commandFor('login', name)
    super(code, `${SENTENCES[code](who, spoolName(accountId, '…'))}; run: ${command}`, options)
    this.accountId = accountId
  }

  of({ accountId, name }: { accountId: number; name: string }): UnreadableLoginError {
    return new UnreadableLoginError(this.code, { accountId, name }, { cause: this.cause })
  }
}

/** Returns the result of work on an account's tokens, or the UnreadableLoginError that it throws, with the account's name. */
export async function orUnreadable<T>(
  work: () => Promise<T> | T,
  account?: { accountId: number; name: string },
): Promise<T | UnreadableLoginError> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UnreadableLoginError) return account ? error.of(account) : error
    throw error
  }
}

/** Returns the name of an account's spool file. It has the start of the database's identity, because databases may share a folder. */
export function spoolName(accountId: number, identity: string): string {
  return `tokens-${accountId}-${identity.slice(0, 8)}.spool`
}

/** Sealed credentials, as in the table and in a spool file. */
export type SealedCredentials = Readonly<
  Omit<
    typeof credentials.$inferSelect,
    'updatedAt' | 'failures' | 'notBefore' | 'unreadable' | keyof Refusals
  >
>

/** The account and the origin for which the values of a login are sealed. */
type Owner = Readonly<{ accountId: number; origin: string }>

/** The result of a sign-in. It has the password only if the rider asked to keep it. */
export type Login = Pick<Credentials, 'clientId' | 'clientSecret'> & {
  pair: TokenPair
  username?: string | undefined
  password?: string | undefined
}

export function sealLogin(sealer: Sealer, owner: Owner, login: Login): SealedCredentials {
  const { password, username, clientId, clientSecret, pair } = login
  return {
    accountId: owner.accountId,
    clientId,
    // Without the password the user name is not needed; its hash identifies the rider.
    username: password === undefined ? null : (username ?? null),
    ...sealSecrets(sealer, owner, { clientSecret, password, ...pair }),
    obtainedAt: pair.obtainedAt,
    expiresAt: pair.expiresAt,
  }
}

function sealSecrets(
  sealer: Sealer,
  owner: Owner,
  secrets: Pick<Credentials, 'clientSecret' | 'accessToken' | 'refreshToken' | 'password'>,
) {
  const seal = (text: string, field: string) => sealer.seal(text, { ...owner, field })
  return {
    clientSecret: seal(secrets.clientSecret, 'client_secret'),
    accessToken: seal(secrets.accessToken, 'access_token'),
    refreshToken: seal(secrets.refreshToken, 'refresh_token'),
    password: secrets.password === undefined ? null : seal(secrets.password, 'password'),
    keyId: sealer.keyId,
  }
}

/** Encrypts credentials with another key, or with a new `pair`; they keep their origin. Throws UnreadableLoginError as unsealFields does. */
export function reseal(
  { from, to }: { from: Sealer; to: Sealer },
  sealed: SealedCredentials,
  pair?: TokenPair,
): SealedCredentials {
  const opened = unsealFields(from, sealed)
  const owner = { accountId: sealed.accountId, origin: opened.origin }
  const { obtainedAt, expiresAt } = pair ?? sealed
  return { ...sealed, ...sealSecrets(to, owner, { ...opened, ...pair }), obtainedAt, expiresAt }
}

type LoginState = Pick<typeof credentials.$inferSelect, 'failures' | 'notBefore' | keyof Refusals> &
  Pick<typeof accounts.$inferSelect, 'needsLogin' | 'baseUrl'> & { isRiderCompared: boolean }

/**
 * Decrypts sealed credentials. Throws UnreadableLoginError `secret_key_mismatch` if another key encrypted them, `login_damaged`, or
 * `login_elsewhere` if they were sealed for another origin than the base URL's, because they must not be sent there.
 */
export function unsealCredentials(sealer: Sealer, sealed: SealedCredentials, state: LoginState): Credentials {
  const opened = unsealFields(sealer, sealed)
  if (opened.origin !== new URL(state.baseUrl).origin)
    throw new UnreadableLoginError('login_elsewhere', sealed)
  return {
    ...opened,
    clientId: sealed.clientId,
    username: sealed.username ?? undefined,
    obtainedAt: sealed.obtainedAt,
    expiresAt: sealed.expiresAt,
    needsLogin: state.needsLogin,
    failures: state.failures,
    notBefore: state.notBefore ?? undefined,
    isRiderCompared: state.isRiderCompared,
    refusals: state.refusals,
    refusedSince: state.refusedSince ?? undefined,
  }
}

/** Decrypts the sealed fields and returns them with their common origin. */
export function unsealFields(sealer: Sealer, sealed: SealedCredentials) {
  const { accountId } = sealed
  if (sealed.keyId !== sealer.keyId) throw new UnreadableLoginError('secret_key_mismatch', { accountId })
  const origins = new Set<string>()
  const open = (value: Buffer, field: string) => {
    const { text, origin } = sealer.open(value, { accountId, field })
    origins.add(origin)
    return text
  }
  const fields = {
    clientSecret: open(sealed.clientSecret, 'client_secret'),
    accessToken: open(sealed.accessToken, 'access_token'),
    refreshToken: open(sealed.refreshToken, 'refresh_token'),
    password: sealed.password === null ? undefined : open(sealed.password, 'password'),
  }
  const [origin = '', ...others] = origins
  if (others.length > 0) throw new UnreadableLoginError('login_elsewhere', { accountId })
  return { ...fields, origin }
}
