import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeDurably } from '../../kit/durable-file.ts'
import { errorCode } from '../../kit/errors.ts'
import type { SealedCredentials } from './rows.ts'
import { spoolName, UnreadableLoginError } from './unreadable-login-error.ts'

/** The one file that holds an account's newest tokens, sealed, while the database has not taken them. */
export type Spool = {
  /** Writes the file so that it is on the disk, under its name and whole, when this resolves. */
  write(sealed: SealedCredentials): Promise<void>
  read(accountId: number): Promise<SealedCredentials | undefined>
  /** Removes the file unless it holds tokens newer than `obtainedAt`. */
  remove(accountId: number, obtainedAt: Date): Promise<void>
  /** Removes the file whatever it holds. */
  clear(accountId: number): Promise<void>
}

const sealedBytes = z.base64().transform((text) => Buffer.from(text, 'base64'))
const moment = z.iso.datetime().transform((text) => new Date(text))

const spoolFile = z
  .object({
    accountId: z.int(),
    clientId: z.string(),
    clientSecret: sealedBytes,
    accessToken: sealedBytes,
    refreshToken: sealedBytes,
    username: z.string().nullable(),
    password: sealedBytes.nullable(),
    keyId: z.string(),
    obtainedAt: moment,
    expiresAt: moment.nullable().catch(null),
  })
  // An end that cannot be read, or is beyond the year 9999, loses no tokens: they count as over and are renewed first.
  .transform((file) => ({ ...file, expiresAt: file.expiresAt ?? file.obtainedAt }))

/**
 * Makes the spool in `directory`, which is made with mode 0700 at the first write; files have mode 0600. A file that is there
 * and cannot be used is an UnreadableLoginError: `spool_unreadable` for the disk, `spool_damaged` for what it holds.
 */
export function makeSpool(directory: string): Spool {
  const pathOf = (accountId: number) => join(directory, spoolName(accountId))
  const read = async (accountId: number): Promise<SealedCredentials | undefined> => {
    const text = await onDisk(accountId, () => readIfThere(pathOf(accountId)))
    if (text === undefined) return undefined
    const parsed = spoolFile.safeParse(parseJson(text))
    if (parsed.success && parsed.data.accountId === accountId) return parsed.data
    throw new UnreadableLoginError('spool_damaged', { accountId })
  }
  return {
    read,
    async write(sealed) {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await writeDurably(pathOf(sealed.accountId), toText(sealed))
    },
    clear: (accountId) => onDisk(accountId, () => rm(pathOf(accountId), { force: true, recursive: true })),
    async remove(accountId, obtainedAt) {
      const found = await read(accountId)
      if (found && found.obtainedAt <= obtainedAt) await rm(pathOf(accountId), { force: true })
    },
  }
}

async function onDisk<T>(accountId: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new UnreadableLoginError('spool_unreadable', { accountId }, { cause })
  }
}

function toText(sealed: SealedCredentials): string {
  return JSON.stringify({
    ...sealed,
    clientSecret: sealed.clientSecret.toString('base64'),
    accessToken: sealed.accessToken.toString('base64'),
    refreshToken: sealed.refreshToken.toString('base64'),
    password: sealed.password?.toString('base64') ?? null,
  })
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
