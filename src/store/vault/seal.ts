import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { ConfigError } from '../../kit/errors.ts'

/** Seals texts with AES-256-GCM. A sealed value opens only for the account and the field that it was sealed for. */
export type Sealer = {
  /** first 8 hex digits of the SHA-256 of the key: tells keys apart and gives nothing away */
  readonly keyId: string
  seal(text: string, place: SealPlace): Buffer
  /** Throws ConfigError `secret_key_mismatch` when the key, the place or a byte of the value is not the one sealed. */
  open(sealed: Buffer, place: SealPlace): string
}

export type SealPlace = Readonly<{ accountId: number; field: string }>

const KEY_BYTES = 32
const VERSION = 1
// 96 bits, the nonce that GCM is made for; random, as only a few values are ever sealed with one key.
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Makes a sealer from a key of 32 bytes. A sealed value is a version byte, the nonce, the tag and the ciphertext. */
export function makeSealer(secretKey: Buffer): Sealer {
  if (secretKey.length !== KEY_BYTES) {
    const message = `vault, read the secret key: it has ${secretKey.length} bytes and needs ${KEY_BYTES}; correct MUSETTE_SECRET_KEY`
    throw new ConfigError('secret_key_length', message)
  }
  return {
    keyId: keyIdOf(secretKey),
    seal(text, place) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', secretKey, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(boundTo(place))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.getAuthTag(), body])
    },
    open(sealed, place) {
      if (sealed[0] !== VERSION || sealed.length < 1 + NONCE_BYTES + TAG_BYTES)
        throw keyMismatch(place.accountId)
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', secretKey, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(boundTo(place))
      decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES))
      try {
        const body = decipher.update(sealed.subarray(1 + NONCE_BYTES + TAG_BYTES))
        return Buffer.concat([body, decipher.final()]).toString('utf8')
      } catch {
        throw keyMismatch(place.accountId)
      }
    },
  }
}

/** Names a key: tells it from others, and gives nothing of it away. */
export function keyIdOf(secretKey: Buffer): string {
  return createHash('sha256').update(secretKey).digest('hex').slice(0, 8)
}

/** Makes the error for tokens that were sealed with another key. */
export function keyMismatch(accountId: number): ConfigError {
  const message =
    `vault, open the tokens of account ${accountId}: they were sealed with another key, nothing is touched; ` +
    'put that key in place (MUSETTE_SECRET_KEY or the key file) and start musette again, or run: musette login'
  return new ConfigError('secret_key_mismatch', message)
}

function boundTo(place: SealPlace): Buffer {
  return Buffer.from(`musette ${place.accountId} ${place.field}`, 'utf8')
}
