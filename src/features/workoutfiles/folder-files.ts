import { createHash } from 'node:crypto'
import { lstat, readdir, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { flushDirectory, readPlainFile, writeWhole } from '../../kit/files.ts'

const TEMPORARY = /^\.musette-[0-9a-f]{12}\.tmp$/
/** Lists our files in the folder, so that no other is overwritten or removed. */
const MANIFEST = '.musette-workouts.json'

/** A plain name with one of our endings: an edited manifest must not name files outside the folder. */
const nameSchema = z.string().regex(/^[^./\\\0][^/\\\0]*\.(erg|zwo|mrc|fit|json)$/)
const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/)

/** Our files by name: their account, and the SHA-256 of each content that we wrote or were about to write. */
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

/** Flushes the folder's entries to the disk, where the file system supports it. */
export async function flushFolder(folder: string): Promise<void> {
  await flushDirectory(folder).catch(() => undefined)
}

/** Removes the temporary files of `writeWhole` after a crash. */
export async function removeTemporaries(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (TEMPORARY.test(name)) await unlink(join(folder, name))
}

/** The code of an error of the file system; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  const isSystem = error instanceof Error && 'syscall' in error && 'code' in error
  return isSystem ? String(error.code) : undefined
}

export type Manifest = z.infer<typeof manifestSchema>

/** Reads the manifest of a folder; without a valid one no file is ours. */
export async function readManifest(folder: string): Promise<Manifest> {
  try {
    const parsed = manifestSchema.safeParse(JSON.parse(String(await readPlainFile(join(folder, MANIFEST)))))
    return parsed.data ?? {}
  } catch (error) {
    if (error instanceof SyntaxError || systemCode(error) === 'ENOENT') return {}
    throw error
  }
}

/** Writes the manifest of a folder atomically, or removes an empty one. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  if (Object.keys(manifest).length === 0) return rm(join(folder, MANIFEST), { force: true })
  const content = `${JSON.stringify(manifest, undefined, 2)}\n`
  await writeWhole(folder, { name: MANIFEST, content, replace: true })
}
