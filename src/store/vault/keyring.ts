import { makeSealer, type Sealer } from './seal.ts'
import { UnreadableLoginError } from './unreadable.ts'

/** `readKeys` reads the keys that are at hand now, the one in use first, then those of a rotation that is not over. */
export type KeyOptions = Readonly<{ secretKey: Buffer; readKeys?: () => readonly Buffer[] }>

/** The keys that this process knows, so that a rotation by another process is followed without a restart. */
export type Keyring = {
  /** Finds the sealer of what a row or a spool file holds; throws UnreadableLoginError `secret_key_mismatch`. */
  sealerOf(sealed: Readonly<{ accountId: number; keyId: string }>): Sealer
  /** Chooses the sealer for a new login, given the ids of the keys that seal the rows at this moment. */
  sealerForNew(used: ReadonlySet<string>): Sealer
}

/** Makes the keyring; throws ConfigError `secret_key_length` for a key that has not 32 bytes. */
export function makeKeyring(options: KeyOptions): Keyring {
  const first = makeSealer(options.secretKey)
  const known = new Map([[first.keyId, first]])
  const readSealers = (): Sealer[] => {
    const sealers = options.readKeys?.().map(makeSealer) ?? []
    for (const sealer of sealers) known.set(sealer.keyId, sealer)
    return sealers.length > 0 ? sealers : [first]
  }
  return {
    sealerOf({ accountId, keyId }) {
      if (!known.has(keyId)) readSealers()
      const sealer = known.get(keyId)
      if (!sealer) throw new UnreadableLoginError('secret_key_mismatch', { accountId })
      return sealer
    },
    sealerForNew(used) {
      const sealers = readSealers()
      // Where no row decides, the key that is to be: a rotation that is under way removes the other one.
      return sealers.find(({ keyId }) => used.has(keyId)) ?? sealers.at(-1) ?? first
    },
  }
}
