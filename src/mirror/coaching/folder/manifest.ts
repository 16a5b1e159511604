import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { systemCode, writeWhole } from './disk.ts'

/** Which files of the folder are ours, so that no other is ever overwritten or removed. */
const MANIFEST = '.musette-workouts.json'

/** A plain name with one of our endings: a manifest that was tampered with must not reach out of the folder. */
const nameSchema = z.string().regex(/^[^./\\\0][^/\\\0]*\.(erg|zwo)$/)
const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/)

/** Our files by name: the account they are for, and the contents that we wrote or were about to write. */
const manifestSchema = z.record(
  nameSchema,
  z.strictObject({ account: z.string(), sha256: z.array(sha256Schema) }),
)

export type Manifest = z.infer<typeof manifestSchema>

/** Reads the manifest of a folder; one that is missing or cannot be understood says that nothing there is ours. */
export async function readManifest(folder: string): Promise<Manifest> {
  try {
    const parsed = manifestSchema.safeParse(JSON.parse(await readFile(join(folder, MANIFEST), 'utf8')))
    return parsed.data ?? {}
  } catch (error) {
    if (error instanceof SyntaxError || systemCode(error) === 'ENOENT') return {}
    throw error
  }
}

/** Writes the manifest of a folder, whole or not at all; one that names no file is removed. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  if (Object.keys(manifest).length === 0) return rm(join(folder, MANIFEST), { force: true })
  const content = `${JSON.stringify(manifest, undefined, 2)}\n`
  await writeWhole(folder, { name: MANIFEST, content, replace: true })
}
