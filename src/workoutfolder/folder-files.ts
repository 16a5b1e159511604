import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { link, lstat, open, readdir, readFile, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

const TEMPORARY = /^\.musette-[0-9a-f]{12}\.tmp$/

/** What lies under a name: nothing, a plain file with the SHA-256 of its content, or something else. */
type Found = { kind: 'nothing' } | { kind: 'file'; sha256: string } | { kind: 'other' }

/** Looks at what lies under a name; links are not followed. */
export async function readFound(path: string): Promise<Found> {
  try {
    const stats = await lstat(path)
    if (!stats.isFile()) return { kind: 'other' }
    const content = await readFile(path, { flag: constants.O_RDONLY | constants.O_NOFOLLOW })
    return { kind: 'file', sha256: createHash('sha256').update(content).digest('hex') }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { kind: 'nothing' }
    throw error
  }
}

/**
 * Writes a file whole or not at all: beside it, flushed to the disk, then put in its place. Where nothing stood nothing
 * is overwritten either, if the file system can promise that.
 */
export async function writeWhole(
  folder: string,
  input: { name: string; content: string; replace: boolean },
): Promise<void> {
  const temporary = join(folder, `.musette-${randomBytes(6).toString('hex')}.tmp`)
  const target = join(folder, input.name)
  try {
    const file = await open(temporary, 'wx')
    try {
      await file.writeFile(input.content)
      await file.sync()
    } finally {
      await file.close()
    }
    if (input.replace || !(await linkAnew(temporary, target))) await rename(temporary, target)
  } finally {
    await unlink(temporary).catch(() => undefined)
  }
}

/** Makes the folder's own entries durable, where the file system has a notion of it. */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

/** Removes what a crash in the middle of `writeWhole` left behind. */
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

/** Bytes of a whole file name in UTF-8, its ending included: far below every file system's limit, so copies fit too. */
const MAX_BYTES = 100
/** What may be added to a stem: ` (99)` and `.erg`. */
const RESERVED_BYTES = 9

/** Names that Windows keeps for devices, whatever ending follows. */
const DEVICE = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])$/i
/** Separators, and what Windows refuses. */
const REFUSED = /[/\\:*?"<>|]/g
/** Controls, half pairs, private signs, and formatting (it can turn the reading order round) but for the joiners of scripts. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Co}\u2028\u2029]|(?![\u200c\u200d])\p{Cf}/gu
/** What a name neither begins nor ends with: it would be hidden, or lost on Windows. */
const EDGES = /^[\s.\u200c\u200d]+|[\s.\u200c\u200d]+$/g

/**
 * Makes the part of a file name before its ending from a name that the service gave: readable, on every file system, and
 * one plain name whatever stood in it. `fallback` is used when nothing is left, and then `workout`.
 */
export function makeFileStem(name: string | null, fallback: string): string {
  for (const text of [name ?? '', fallback]) {
    const stem = cleanStem(text)
    if (stem !== '') return stem
  }
  return 'workout'
}

function cleanStem(text: string): string {
  const readable = text
    .normalize('NFC')
    .replace(/\s+/g, ' ')
    .replace(INVISIBLE, '')
    .replace(REFUSED, '-')
    .replace(EDGES, '')
  const stem = cut(readable, MAX_BYTES - RESERVED_BYTES - 1).replace(EDGES, '')
  const device = DEVICE.test((stem.split('.')[0] ?? '').trimEnd())
  return device ? `_${stem}` : stem
}

/** Cuts between the signs that a person sees, not within one. */
function cut(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  let kept = ''
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text)) {
    if (Buffer.byteLength(kept) + Buffer.byteLength(segment) > maxBytes) break
    kept += segment
  }
  return kept
}
