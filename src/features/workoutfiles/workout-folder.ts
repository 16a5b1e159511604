import { createHash } from 'node:crypto'
import { z } from 'zod'
import { orMissing } from '../../kit/files.ts'
import { foldName, isPlainName } from '../../kit/folders/file-name.ts'
import { type Folder, openBelow, openFolder, SCRATCH } from '../../kit/folders/folder.ts'
import { claimFolderOrThrow, type DatabaseIdentity } from '../../kit/folders/folder-owner.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import type { WantedFile } from './format-workout.ts'
import type { WorkoutFileFormat } from './workout-formats.ts'

type FolderChanges = { written: string[]; removed: string[] }

type Placed = WantedFile & { name: string; found: 'nothing' | 'same' | 'ours' | 'foreign' }

/** Maximum number of files with the same stem; nobody makes more. */
const MAX_COPIES = 99

/**
 * Writes the wanted files of an account and removes its other files of these formats, unless they are `kept` or a person changed them. Does
 * not touch files that are not ours or that already have the wanted content. The manifest names a file before it is written, so that all
 * our files are known after a crash. Throws ConfigError `folder_of_another`, `not_a_folder` for a link, and file system errors.
 */
export async function updateFolder(
  /** the name of a subfolder of the owner's folder; undefined for that folder itself */
  inner: string | undefined,
  input: UpdateInput,
): Promise<FolderChanges> {
  const { dir } = input.owner
  // Programs of other users must be able to read the folder.
  if (input.files.length > 0) {
    const make = async (outer: Folder) =>
      inner === undefined ? undefined : outer.makeInner(inner, FOLDER_MODE)
    await closeAfter(await openFolder(dir, { mode: FOLDER_MODE }), async (outer) =>
      (await make(outer))?.close(),
    )
  }
  const opened = await openBelow(dir, inner === undefined ? [] : [inner]).catch(orMissing)
  return opened ? closeAfter(opened, (folder) => update(folder, input)) : { written: [], removed: [] }
}

/** Everybody may read the workouts, for example a trainer's program that runs as another user; only the owner may change them. */
const FOLDER_MODE = 0o755
const FILE_MODE = 0o644

type UpdateInput = {
  account: string
  /** the database, and the folder that it claims (this one or a parent); another database's folder is not written */
  owner: { dir: string; database: DatabaseIdentity }
  files: readonly WantedFile[]
  formats: readonly WorkoutFileFormat[]
  kept: readonly string[] | 'all'
}

async function update(folder: Folder, input: UpdateInput): Promise<FolderChanges> {
  const { account, files, formats, kept } = input
  const before = await readManifest(folder)
  if (files.length === 0 && Object.keys(before).length === 0) return { written: [], removed: [] }
  const placed: Placed[] = []
  const taken = new Set<string>()
  const known = new Map<string, Array<[name: string, entry: Manifest[string]]>>()
  for (const one of Object.entries(before)) {
    const key = foldName(one[0])
    known.set(key, [...(known.get(key) ?? []), one])
  }
  for (const file of files) {
    const one = await place(folder, known, { account, file, taken })
    placed.push(one)
    taken.add(foldName(one.name))
  }
  const names = new Set(placed.map(({ name }) => name))
  const old = Object.keys(before).filter(
    (name) =>
      before[name]?.account === account &&
      !names.has(name) &&
      formats.some((format) => name.endsWith(`.${format}`)) &&
      (taken.has(foldName(name)) || (kept !== 'all' && !kept.includes(name))),
  )
  const toWrite = placed.filter(({ found }) => found === 'nothing' || found === 'ours')
  const after = finalManifest(before, { account, placed, old })
  if (JSON.stringify(after) === JSON.stringify(before) && toWrite.length === 0) {
    return { written: [], removed: [] }
  }
  await claimFolderOrThrow(input.owner.dir, input.owner.database)
  const entries = await folder.list()
  for (const entry of entries)
    if (entry.isFile() && SCRATCH.test(String(entry.name))) await folder.unlink(entry.name)
  if (toWrite.length > 0) await writeManifest(folder, noteIntents(before, account, toWrite))
  // On a case-insensitive disk the new files replace these and could keep their names, so remove these first.
  const twins = old.filter((name) => taken.has(foldName(name)))
  const listed = new Set(entries.map(({ name }) => String(name)))
  const there = twins.filter((name) => listed.has(name))
  const removed = await removeOurs(folder, before, there)
  for (const { name, content, found } of toWrite) {
    await folder.write(name, content, { mode: FILE_MODE, replace: found === 'ours' })
  }
  const rest = old.filter((name) => !twins.includes(name))
  removed.push(...(await removeOurs(folder, before, rest)))
  await folder.sync()
  await writeManifest(folder, after)
  return { written: toWrite.map(({ name }) => name), removed }
}

/** Finds the first name that no other wanted file has and that is free, ours, or already has the wanted content. */
async function place(
  folder: Folder,
  known: ReadonlyMap<string, ReadonlyArray<[name: string, entry: Manifest[string]]>>,
  input: { account: string; file: WantedFile; taken: ReadonlySet<string> },
): Promise<Placed> {
  const { account, file, taken } = input
  for (let copy = 1; copy <= MAX_COPIES; copy++) {
    const name = `${file.stem}${copy === 1 ? '' : ` (${copy})`}.${file.format}`
    if (taken.has(foldName(name))) continue
    const entries = known.get(foldName(name)) ?? []
    const mine = entries.every(([, entry]) => entry.account === account)
    const found = await readFound(folder, name)
    if (found.kind === 'nothing' && mine) return { ...file, name, found: 'nothing' }
    if (found.kind !== 'file') continue
    const isOurs = mine && entries.some(([, entry]) => entry.sha256.includes(found.sha256))
    const isNamed = !isOurs || entries.some(([other]) => other === name)
    if (found.sha256 === file.sha256 && isNamed) return { ...file, name, found: isOurs ? 'same' : 'foreign' }
    if (isOurs) return { ...file, name, found: 'ours' }
  }
  throw Object.assign(new Error('every name for the file is taken'), { syscall: 'open', code: 'EEXIST' })
}

function noteIntents(before: Manifest, account: string, toWrite: readonly Placed[]): Manifest {
  const noted: Manifest = { ...before }
  for (const { name, sha256 } of toWrite) {
    const known = before[name]?.sha256 ?? []
    noted[name] = { account, sha256: [...known.filter((other) => other !== sha256), sha256] }
  }
  return noted
}

function finalManifest(
  before: Manifest,
  input: { account: string; placed: readonly Placed[]; old: readonly string[] },
): Manifest {
  const { account, placed, old } = input
  const kept = Object.entries(before).filter(([name]) => !old.includes(name))
  const ours = placed.filter(({ found }) => found !== 'foreign')
  return {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(ours.map(({ name, sha256 }) => [name, { account, sha256: [sha256] }])),
  }
}

/** Removes our files, except files that a person changed; these are no longer ours. */
async function removeOurs(folder: Folder, before: Manifest, names: readonly string[]): Promise<string[]> {
  const removed: string[] = []
  for (const name of names) {
    const found = await readFound(folder, name)
    if (found.kind !== 'file' || !before[name]?.sha256.includes(found.sha256)) continue
    await folder.unlink(name)
    removed.push(name)
  }
  return removed
}

/** The manifest of our files in the folder; other files are never overwritten or removed. */
const MANIFEST = '.musette-workouts.json'

/**
 * Our files by name: their account, and the SHA-256 of each content that we wrote or were about to write. Names outside the folder, from an
 * edited manifest, are dropped.
 */
const manifestSchema = z
  .record(
    z.string(),
    z.strictObject({ account: z.string(), sha256: z.array(z.string().regex(/^[0-9a-f]{64}$/)) }),
  )
  .transform((files) =>
    Object.fromEntries(
      Object.entries(files).filter(([name]) => isPlainName(name) && /\.(erg|zwo|mrc|fit|json)$/.test(name)),
    ),
  )

/** The entry of a name: nothing, a plain file with the SHA-256 of its content, or something else. */
type Found = { kind: 'nothing' } | { kind: 'file'; sha256: string } | { kind: 'other' }

/** Reads the entry of a name; follows no link. */
async function readFound(folder: Folder, name: string): Promise<Found> {
  try {
    const stats = await folder.lstat(name)
    if (!stats.isFile()) return { kind: 'other' }
    const content = await folder.read(name)
    return { kind: 'file', sha256: createHash('sha256').update(content).digest('hex') }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { kind: 'nothing' }
    throw error
  }
}

/** Returns the code of a file system error; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  const isSystem = error instanceof Error && 'syscall' in error && 'code' in error
  return isSystem ? String(error.code) : undefined
}

type Manifest = z.infer<typeof manifestSchema>

/** Reads the manifest of a folder; if it is missing or invalid, no file counts as ours. */
async function readManifest(folder: Folder): Promise<Manifest> {
  try {
    const parsed = manifestSchema.safeParse(JSON.parse(String(await folder.read(MANIFEST))))
    return parsed.data ?? {}
  } catch (error) {
    if (error instanceof SyntaxError || systemCode(error) === 'ENOENT') return {}
    throw error
  }
}

/** Writes the manifest of a folder atomically; removes it if it is empty. */
async function writeManifest(folder: Folder, manifest: Manifest): Promise<void> {
  if (Object.keys(manifest).length === 0) return folder.unlink(MANIFEST).catch(orMissing)
  const content = `${JSON.stringify(manifest, undefined, 2)}\n`
  await folder.write(MANIFEST, content, { mode: FILE_MODE, replace: true })
}
