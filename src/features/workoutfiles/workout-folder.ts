import { mkdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { SavedWorkout } from '../../core/store/training/workout-sets.ts'
import { errorCode, errorLine } from '../../kit/errors.ts'
import { writeWhole } from '../../kit/files.ts'
import { makeFileStem } from '../../kit/folders/file-name.ts'
import { claimFolderOrThrow, type DatabaseIdentity } from '../../kit/folders/folder-owner.ts'
import {
  flushFolder,
  type Manifest,
  readFound,
  readManifest,
  removeTemporaries,
  systemCode,
  writeManifest,
} from './folder-files.ts'
import { foldName, makeWorkoutFiles, type WantedFile } from './wanted-files.ts'
import type { WorkoutFileFormat } from './workout-formats.ts'

/** The wanted content of an account's folder: undefined for the day when the service did not name its workout. */
export type FolderContent = {
  database: DatabaseIdentity
  day: readonly WantedFile[] | undefined
  saved: readonly SavedWorkout[]
}

export type WorkoutFolder = {
  /** Writes the account's files and removes its older ones; false when the folder cannot be used. */
  update(account: string, content: FolderContent): Promise<boolean>
}

/** The account whose files are in the folder itself; each other one has a subfolder. */
const MAIN_ACCOUNT = 'default'
/** The formats of the workout of the day, and of the saved ones. */
const FORMATS = ['erg', 'zwo'] as const

/**
 * Makes the workout folder, which holds workouts as files. An unusable
 * folder is logged once until it works again or fails with another code, and so is a workout that cannot be written; SQL has all of them.
 */
export function makeWorkoutFolder(deps: { log: Logger }, options: { dir: string }): WorkoutFolder {
  const problems = new Map<string, string>()
  const logged = new Set<string>()
  return {
    async update(account, { database, day, saved }) {
      const folder =
        account === MAIN_ACCOUNT ? options.dir : join(options.dir, makeFileStem(account, 'account'))
      const taken = [...new Set(day?.map(({ stem }) => stem))]
      const files = makeWorkoutFiles(saved, { formats: FORMATS, taken })
      for (const problem of files.problems) {
        if (!logged.has(problem)) deps.log.warn({ account, problem }, 'workout cannot be written as a file')
        logged.add(problem)
      }
      try {
        const changes = await updateFolder(folder, {
          account,
          owner: { dir: options.dir, database },
          files: [...(day ?? []), ...files.wanted],
          formats: FORMATS,
          // An answer without these fields does not withdraw the workout of the day.
          kept: day === undefined ? 'all' : files.kept,
        })
        if (changes.written.length + changes.removed.length > 0) {
          deps.log.info({ account, ...changes }, 'workout folder updated')
        }
        if (problems.delete(folder)) deps.log.info({ account, folder }, 'workout folder works again')
        return true
      } catch (error) {
        const isOfAnother = errorCode(error) === 'folder_of_another'
        const code = isOfAnother ? 'folder_of_another' : systemCode(error)
        if (code === undefined) throw error
        if (problems.get(folder) !== code) {
          const why = isOfAnother
            ? errorLine(error)
            : 'see that MUSETTE_WORKOUT_DIR is a folder that this user may write, with room'
          deps.log.error(
            { account, folder, code },
            `workout folder cannot be written; workouts are in SQL only; ${why}`,
          )
        }
        problems.set(folder, code)
        return false
      }
    },
  }
}

type FolderChanges = { written: string[]; removed: string[] }

type Placed = WantedFile & { name: string; found: 'nothing' | 'same' | 'ours' | 'foreign' }

/** More files of one name than a person makes. */
const MAX_COPIES = 99

/**
 * Writes the wanted files of an account and removes its other files of these formats, unless they are `kept` or a person changed them;
 * leaves files that are not ours or have the wanted content. The manifest names a file before it is written, so that all our files are
 * known after a crash. Throws ConfigError `folder_of_another` and the file system's errors.
 */
export async function updateFolder(
  folder: string,
  input: {
    account: string
    /** the database, and the folder that it claims (this one or a parent); a folder of another database is not written */
    owner: { dir: string; database: DatabaseIdentity }
    files: readonly WantedFile[]
    formats: readonly WorkoutFileFormat[]
    kept: readonly string[] | 'all'
  },
): Promise<FolderChanges> {
  const { account, files, formats, kept } = input
  const before = files.length === 0 ? await readIfOurs(folder) : await openFolder(folder)
  if (!before) return { written: [], removed: [] }
  const placed: Placed[] = []
  const taken = new Set<string>()
  for (const file of files) {
    const one = await place(folder, before, { account, file, taken })
    placed.push(one)
    taken.add(foldName(one.name))
  }
  const old = Object.keys(before).filter(
    (name) =>
      before[name]?.account === account &&
      !taken.has(foldName(name)) &&
      formats.some((format) => name.endsWith(`.${format}`)) &&
      kept !== 'all' &&
      !kept.includes(name),
  )
  const toWrite = placed.filter(({ found }) => found === 'nothing' || found === 'ours')
  const after = finalManifest(before, { account, placed, old })
  if (JSON.stringify(after) === JSON.stringify(before) && toWrite.length === 0) {
    return { written: [], removed: [] }
  }
  await claimFolderOrThrow(input.owner.dir, input.owner.database)
  await removeTemporaries(folder)
  if (toWrite.length > 0) await writeManifest(folder, noteIntents(before, account, toWrite))
  for (const { name, content, found } of toWrite) {
    await writeWhole(folder, { name, content, replace: found === 'ours' })
  }
  const removed = await removeOurs(folder, before, old)
  await flushFolder(folder)
  await writeManifest(folder, after)
  return { written: toWrite.map(({ name }) => name), removed }
}

async function openFolder(folder: string): Promise<Manifest> {
  await mkdir(folder, { recursive: true, mode: 0o755 })
  return readManifest(folder)
}

/** Reads the manifest of a folder without writing there; undefined when it is missing or empty. */
async function readIfOurs(folder: string): Promise<Manifest | undefined> {
  const manifest = await readManifest(folder)
  return Object.keys(manifest).length > 0 ? manifest : undefined
}

/** Finds the first name that is free, ours or has the wanted content already, and that no other wanted file has. */
async function place(
  folder: string,
  manifest: Manifest,
  input: { account: string; file: WantedFile; taken: ReadonlySet<string> },
): Promise<Placed> {
  const { account, file, taken } = input
  for (let copy = 1; copy <= MAX_COPIES; copy++) {
    const name = `${file.stem}${copy === 1 ? '' : ` (${copy})`}.${file.format}`
    if (taken.has(foldName(name))) continue
    const entry = manifest[name]
    const mine = entry?.account === account
    const found = await readFound(join(folder, name))
    if (found.kind === 'nothing' && (mine || !entry)) return { ...file, name, found: 'nothing' }
    if (found.kind !== 'file') continue
    const isOurs = mine && entry.sha256.includes(found.sha256)
    if (found.sha256 === file.sha256) return { ...file, name, found: isOurs ? 'same' : 'foreign' }
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

/** Removes our files; one that a person changed stays and is no longer ours. */
async function removeOurs(folder: string, before: Manifest, names: readonly string[]): Promise<string[]> {
  const removed: string[] = []
  for (const name of names) {
    const found = await readFound(join(folder, name))
    if (found.kind !== 'file' || !before[name]?.sha256.includes(found.sha256)) continue
    await unlink(join(folder, name))
    removed.push(name)
  }
  return removed
}
