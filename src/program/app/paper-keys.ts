import {
  createFolder,
  oldKeyPath,
  readHeldKeys,
  readKeyFile,
  secretKeyPath,
  writeKeyFile,
} from '../../core/vault/key-file.ts'
import { formatPaperKey, parsePaperKeys } from '../../core/vault/paper-key.ts'
import { keyIdOf } from '../../core/vault/seal.ts'
import { ConfigError } from '../../kit/errors.ts'
import type { Config } from '../config/config.ts'

type KeyConfig = Pick<Config, 'secretKey' | 'dataDir'>

/** Reads the keys that decrypt logins, and formats them for paper. Throws ConfigError `no_key`. */
export function readPaperKeys(config: KeyConfig): string[] {
  const keys = readHeldKeys(config)
  if (keys.length === 0)
    throw new ConfigError('no_key', `there is no key in ${config.dataDir} yet; run: musette login`)
  return [
    ...keys.flatMap((key) => [
      `key ${keyIdOf(key)} of musette, which decrypts the logins that were sealed with it`,
      ...formatPaperKey(key),
    ]),
    'Keep it away from backups: a key and a backup together give access to your logins. musette restore asks for it; or run: musette key import FILE',
  ]
}

/** Writes the keys in a text into the data directory. Throws ConfigError `key_from_environment`, `paper_key` and `secret_key_unwritable`. */
export async function addPaperKeys({ secretKey, dataDir }: KeyConfig, text: string) {
  if (secretKey) {
    const message =
      'MUSETTE_SECRET_KEY is set, so musette reads no key file; unset it, then run: musette key import FILE'
    throw new ConfigError('key_from_environment', message)
  }
  const added: Array<{ keyId: string; path: string }> = []
  createFolder(dataDir)
  for (const key of parsePaperKeys(text)) {
    const keyId = keyIdOf(key)
    const isOther = readKeyFile(secretKeyPath(dataDir))?.equals(key) === false
    const path = isOther ? oldKeyPath(dataDir, keyId) : secretKeyPath(dataDir)
    await writeKeyFile(path, key)
    added.push({ keyId, path })
  }
  return added
}
