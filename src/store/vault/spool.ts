import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeDurably } from '../../kit/durable-file.ts'
import { errorCode } from '../../kit/errors.ts'
import type { SealedCredentials } from './rows.ts'
import { spoolName, UnreadableLoginError } from './seal.ts'

/** A file per account with its newest tokens, sealed, as long as they are not in the database. */
export type Spool = {
  /** Writes the file; it is on the disk, complete and under its name, when this resolves. */
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
  // Tokens with an unreadable end, or one after the year 9999, are kept: they count as expired and are refreshed.
  .transform((file) => ({ ...file, expiresAt: file.expiresAt ?? file.obtainedAt }))

/**
 * Makes the spool in `directory`, which is created with mode 0700 at the first write; files have mode 0600. Throws
 * UnreadableLoginError `spool_unreadable` when the disk fails, `spool_damaged` when the content is not valid.
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
