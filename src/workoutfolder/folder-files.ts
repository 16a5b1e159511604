import { createHash, randomBytes } from 'node:crypto'
import { link, lstat, readdir, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { flushDirectory, readPlainFile, writeFlushed } from '../kit/files.ts'

const TEMPORARY = /^\.musette-[0-9a-f]{12}\.tmp$/
/** Lists the files of the folder that are ours, so that no other is ever overwritten or removed. */
const MANIFEST = '.musette-workouts.json'

/** A plain name with one of our endings: a manifest that somebody has changed must not name files outside the folder. */
const nameSchema = z.string().regex(/^[^./\\\0][^/\\\0]*\.(erg|zwo|mrc|fit|json)$/)
const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/)

/** Our files by name: their account, and the SHA-256 of the contents that we have written or were about to write. */
const manifestSchema = z.record(
  nameSchema,
  z.strictObject({ account: z.string(), sha256: z.array(sha256Schema) }),
)

/** The entry of a name: nothing, a plain file with the SHA-256 of its content, or something else. */
type Found = { kind: 'nothing' } | { kind: 'file'; sha256: string } | { kind: 'other' }

/** Reads the entry of a name; links are not followed. */
export async function readFound(path: string): Promise<Found> {
  try {
    const stats = await lstat(path)
    if (!stats.isFile()) return { kind: 'other' }
    const content = await readPlainFile(path)
    return { kind: 'file', sha256: createHash('sha256').update(content).digest('hex') }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { kind: 'nothing' }
    throw error
  }
}

/**
 * Writes a file whole or not at all: under a temporary name, flushed to the disk, then in its place. Without `replace` an
 * existing file is not overwritten either, if the file system has links.
 */
export async function writeWhole(
  folder: string,
  input: { name: string; content: string | Uint8Array; replace: boolean },
): Promise<void> {
  const temporary = join(folder, `.musette-${randomBytes(6).toString('hex')}.tmp`)
  const target = join(folder, input.name)
  try {
    // The program of a trainer may run as another user: it may read a workout, and nobody else may change one.
    await writeFlushed(temporary, input.content, 0o644)
    if (input.replace || !(await linkAnew(temporary, target))) await rename(temporary, target)
  } finally {
    await unlink(temporary).catch(() => undefined)
  }
}

/** Flushes the folder's entries to the disk, where the file system can do that. */
export async function flushFolder(folder: string): Promise<void> {
  await flushDirectory(folder).catch(() => undefined)
}

/** Removes the temporary files that a crash during `writeWhole` has left. */
export async function removeTemporaries(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (TEMPORARY.test(name)) await unlink(join(folder, name))
}

/** The code of an error of the file system; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  const isSystem = error instanceof Error && 'syscall' in error && 'code' in error
  return isSystem ? String(error.code) : undefined
}

async function linkAnew(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw error
    // FAT and some network shares have no links.
    return false
  }
}

export type Manifest = z.infer<typeof manifestSchema>

/** Reads the manifest of a folder; without one, or with one that cannot be parsed, no file there is ours. */
export async function readManifest(folder: string): Promise<Manifest> {
  try {
    const parsed = manifestSchema.safeParse(JSON.parse(String(await readPlainFile(join(folder, MANIFEST)))))
    return parsed.data ?? {}
  } catch (error) {
    if (error instanceof SyntaxError || systemCode(error) === 'ENOENT') return {}
    throw error
  }
}

/** Writes the manifest of a folder, whole or not at all; an empty one is removed. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  if (Object.keys(manifest).length === 0) return rm(join(folder, MANIFEST), { force: true })
  const content = `${JSON.stringify(manifest, undefined, 2)}\n`
  await writeWhole(folder, { name: MANIFEST, content, replace: true })
}
