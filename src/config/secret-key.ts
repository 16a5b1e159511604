import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, errorCode } from '../kit/errors.ts'

/**
 * Reads the 32-byte key that seals tokens at rest from `<dataDir>/secret.key`, making it (mode 0600) the first time.
 * Two processes that start at once end up with one key: the file is written whole under another name and then
 * linked into place, which only one of them can do.
 */
export function readOrMakeSecretKey(dataDir: string): Buffer {
  const path = join(dataDir, 'secret.key')
  const found = readKey(path)
  if (found) return found
  makeFolder(dataDir)
  const scratch = `${path}.${process.pid}`
  writeFileSync(scratch, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flush: true })
  try {
    linkSync(scratch, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(scratch, { force: true })
  }
  return readKey(path) as Buffer
}

function makeFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    const message = `the folder ${dataDir} cannot be made (${errorCode(error)}); set MUSETTE_DATA_DIR to a folder of yours`
    throw new ConfigError('data_dir_unusable', message, { cause: error })
  }
}

function readKey(path: string): Buffer | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new ConfigError(
      'secret_key_unreadable',
      `the key file ${path} cannot be read; check its owner and mode`,
      {
        cause: error,
      },
    )
  }
  const key = Buffer.from(text, 'base64')
  if (key.length !== 32) {
    throw new ConfigError(
      'secret_key_damaged',
      `the key file ${path} does not hold 32 bytes in base64; put it back from a backup, or remove it and run: musette login`,
    )
  }
  return key
}
