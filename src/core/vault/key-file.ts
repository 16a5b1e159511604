import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError, errorCode } from '../../kit/errors.ts'
import { renameDurably, writeDurably } from '../../kit/files.ts'

const KEY_BYTES = 32
/** Name of a key file of an unfinished rotation, with the key's id. */
const PENDING = /^secret\.key\.new-([0-9a-f]{8})$/
const OLD = /^secret\.key\.old-([0-9a-f]{8})$/
/** Name of an incomplete key file that a crash left. */
const SCRAP = /^secret\.key\.new-[0-9a-f]{8}\./

export function secretKeyPath(dataDir: string): string {
  return join(dataDir, 'secret.key')
}

/** Returns the path at which a new key lies until its rotation is finished. */
export function pendingKeyPath(dataDir: string, keyId: string): string {
  return `${secretKeyPath(dataDir)}.new-${keyId}`
}

/** Returns the path of a replaced key, which decrypts the logins in older backups. */
export function oldKeyPath(dataDir: string, keyId: string): string {
  return `${secretKeyPath(dataDir)}.old-${keyId}`
}

/**
 * Reads the 32-byte key that encrypts tokens from `<dataDir>/secret.key`; creates the file (mode 0600) the first time. Two processes that
 * start at once get the same key: each writes a file under another name and links it to this path, which succeeds only once.
 */
export function readOrMakeSecretKey(dataDir: string): Buffer {
  const path = secretKeyPath(dataDir)
  const found = readKeyFile(path)
  if (found) return found
  createFolder(dataDir)
  const scratch = `${path}.${process.pid}`
  writeFileSync(scratch, textOf(makeKey()), { mode: 0o600, flush: true })
  try {
    linkSync(scratch, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(scratch, { force: true })
  }
  return readKeyFile(path) as Buffer
}

/** Reads the keys that may have encrypted rows: first the key in the key file, then the keys of unfinished rotations. */
export function readSecretKeys(dataDir: string): Buffer[] {
  // Reads the key file last, because a rotation that finishes meanwhile moves its key there.
  const pending = readPendingIds(dataDir).flatMap((id) => readKeyFile(pendingKeyPath(dataDir, id)) ?? [])
  const current = readKeyFile(secretKeyPath(dataDir))
  return current ? [current, ...pending] : pending
}

/** Reads every key that can decrypt logins: the key that is set, or the keys of readSecretKeys and the replaced keys. */
export function readHeldKeys({
  secretKey,
  dataDir,
}: {
  secretKey: Buffer | undefined
  dataDir: string
}): Buffer[] {
  if (secretKey) return [secretKey]
  const old = readNames(dataDir).flatMap((name) => OLD.exec(name)?.[1] ?? [])
  return [...readSecretKeys(dataDir), ...old.flatMap((id) => readKeyFile(oldKeyPath(dataDir, id)) ?? [])]
}

export function readPendingIds(dataDir: string): string[] {
  return readNames(dataDir).flatMap((name) => PENDING.exec(name)?.[1] ?? [])
}

/** Removes the unused keys of failed rotations, and the incomplete key files that crashes left. */
export async function removePendingKeys(dataDir: string, used: ReadonlySet<string>): Promise<void> {
  for (const name of readNames(dataDir)) {
    const keyId = PENDING.exec(name)?.[1]
    const isDone = keyId === undefined ? SCRAP.test(name) : !used.has(keyId)
    if (isDone) await rm(join(dataDir, name), { force: true })
  }
}

/** Reads a key file; undefined if there is none. Throws ConfigError `secret_key_unreadable` or `secret_key_damaged`. */
export function readKeyFile(path: string): Buffer | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw unreadable(path, error)
  }
  const key = Buffer.from(text, 'base64')
  if (key.length !== KEY_BYTES) {
    throw new ConfigError(
      'secret_key_damaged',
      `the key file ${path} does not hold 32 bytes in base64; restore it from a backup, or remove it and run: musette login`,
    )
  }
  return key
}

/** Writes a key file, mode 0600; it is on the disk when this resolves. */
export async function writeKeyFile(path: string, key: Buffer): Promise<void> {
  try {
    await writeDurably(path, textOf(key))
  } catch (error) {
    const message = `the key file ${path} cannot be written (${errorCode(error)}); nothing was changed`
    throw new ConfigError('secret_key_unwritable', message, { cause: error })
  }
}

/** Renames a pending key file to `secret.key`. Does nothing if another process has done so. */
export async function putKeyInPlace(dataDir: string, keyId: string): Promise<void> {
  const pending = pendingKeyPath(dataDir, keyId)
  try {
    await renameDurably(pending, secretKeyPath(dataDir))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return
    const message = `cannot rename ${pending} to secret.key (${errorCode(error)}), but musette reads the new key there too; make the folder writable and run: musette status`
    throw new ConfigError('secret_key_unwritable', message, { cause: error })
  }
}

export function makeKey(): Buffer {
  return randomBytes(KEY_BYTES)
}

function readNames(dataDir: string): string[] {
  try {
    return readdirSync(dataDir)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw unreadable(dataDir, error)
  }
}

function textOf(key: Buffer): string {
  return `${key.toString('base64')}\n`
}

export function createFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    const message = `cannot create the folder ${dataDir} (${errorCode(error)}); set MUSETTE_DATA_DIR to a folder that you may write`
    throw new ConfigError('data_dir_unusable', message, { cause: error })
  }
}

function unreadable(path: string, cause: unknown): ConfigError {
  const message = `the key file ${path} cannot be read (${errorCode(cause)}); check its owner and mode`
  return new ConfigError('secret_key_unreadable', message, { cause })
}
