import { resolve } from 'node:path'
import type { Logger } from 'pino'
import type { Store } from '../../core/store/store.ts'
import {
  makeKey,
  oldKeyPath,
  pendingKeyPath,
  putKeyInPlace,
  readKeyFile,
  readPendingIds,
  removePendingKeys,
  secretKeyPath,
  writeKeyFile,
} from '../../core/vault/key-file.ts'
import type { Resealed } from '../../core/vault/reseal-credentials.ts'
import { keyIdOf } from '../../core/vault/seal.ts'
import { findKeyIds } from '../../core/vault/stored-credentials.ts'
import type { Vault } from '../../core/vault/vault.ts'
import { ConfigError } from '../../kit/errors.ts'
import type { Config } from '../config/config.ts'

type Deps = { config: Config; store: Store; vault: Vault }

/**
 * The result of a rotation: the number of resealed logins, the unreadable logins, which are unchanged, and the path of the key file. If
 * `byHand` is true, a person must set MUSETTE_SECRET_KEY_FILE to that path; otherwise `old` is where the old key is kept.
 */
export type Rotation = Resealed & { path: string; byHand: boolean; old?: string | undefined }

/**
 * Seals every login with a new key. A key in the data directory is replaced there, and a running daemon reads the new key. Only a person can
 * replace a key from the environment: the new key is read from the file `to`, which is created if it does not exist. After a crash at any
 * moment, every login can still be decrypted, and the same command completes the rotation. Throws ConfigError `key_in_data_dir`,
 * `key_from_environment` and `same_key`.
 */
export async function rotateKey(app: Deps, input: { to: string | undefined }): Promise<Rotation> {
  const { secretKey, dataDir } = app.config
  if (secretKey) return rotateToFile(app, { secretKey, to: input.to })
  if (input.to === undefined) return rotateInPlace(app)
  const message = `the key is in ${secretKeyPath(dataDir)} and is replaced there; run: musette key rotate`
  throw new ConfigError('key_in_data_dir', message)
}

/** Completes a rotation that was interrupted after the logins were sealed: moves the new key into the key file. */
export async function finishRotation(
  deps: { store: Store; log: Logger },
  { secretKey, dataDir }: Pick<Config, 'secretKey' | 'dataDir'>,
): Promise<void> {
  const pending = secretKey ? [] : readPendingIds(dataDir)
  if (pending.length === 0) return
  const used = await deps.store.read(findKeyIds)
  for (const keyId of pending.filter((id) => isInUse(dataDir, used, id))) {
    await putKeyInPlace(dataDir, keyId)
    deps.log.info({ keyId }, 'put the key of a rotation in its place')
  }
}

async function rotateInPlace(app: Omit<Deps, 'store'>): Promise<Rotation> {
  const { dataDir } = app.config
  const key = makeKey()
  const keyId = keyIdOf(key)
  let old: string | undefined
  // Each pending key has its own file name, so that a slow rotation cannot install the key of a later rotation.
  const resealed = await app.vault.rotate(async (used) => {
    for (const id of readPendingIds(dataDir)) {
      if (isInUse(dataDir, used, id)) await putKeyInPlace(dataDir, id)
    }
    await removePendingKeys(dataDir, used)
    const before = readKeyFile(secretKeyPath(dataDir))
    old = before && oldKeyPath(dataDir, keyIdOf(before))
    if (before && old) await writeKeyFile(old, before)
    await writeKeyFile(pendingKeyPath(dataDir, keyId), key)
    return key
  })
  await putKeyInPlace(dataDir, keyId)
  return { ...resealed, path: secretKeyPath(dataDir), byHand: false, old }
}

/** Reports whether logins are sealed with this pending key, and no login is sealed with the key in the key file. */
function isInUse(dataDir: string, used: ReadonlySet<string>, pendingId: string): boolean {
  const current = readKeyFile(secretKeyPath(dataDir))
  return used.has(pendingId) && !(current && used.has(keyIdOf(current)))
}

async function rotateToFile(
  app: Omit<Deps, 'config'>,
  input: { secretKey: Buffer; to: string | undefined },
): Promise<Rotation> {
  if (input.to === undefined) {
    const message =
      'the key comes from MUSETTE_SECRET_KEY, which musette cannot change; run: musette key rotate --to FILE'
    throw new ConfigError('key_from_environment', message)
  }
  const path = resolve(input.to)
  const found = readKeyFile(path)
  if (found?.equals(input.secretKey)) {
    throw new ConfigError('same_key', `${path} has the key that is already in use; give another file`)
  }
  const key = found ?? makeKey()
  const used = await app.store.read(findKeyIds)
  // If an earlier call has sealed every login, only the person's step is left.
  const isDone = used.size > 0 && [...used].every((id) => id === keyIdOf(key))
  const nextKey = async () => {
    if (!found) await writeKeyFile(path, key)
    return key
  }
  const resealed = isDone ? { logins: 0, unreadable: [] } : await app.vault.rotate(nextKey)
  return { ...resealed, path, byHand: true }
}
