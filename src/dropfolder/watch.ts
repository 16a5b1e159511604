import { randomUUID } from 'node:crypto'
import { rm, stat, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import chokidar from 'chokidar'
import { errorCode, errorLine } from '../kit/errors.ts'
import { SECOND, sleep } from '../kit/time.ts'
import type { Problems } from './problems.ts'
import { DONE, FAILED, isIgnored, MAX_DEPTH } from './walk.ts'

type Watch = { close(): Promise<void> }

/**
 * Watches the drop folder and calls `onHint` whenever something moves in it. A hint says nothing more: which files are
 * there is for the scan to find out. Only folders are watched, by one system watch each, since a watch on a folder tells
 * of its files, too; 20,000 files would need 20,000 of them. `onHint` is told the name where the system tells one, and hears
 * once when the watch stands. `onError` hears what the system refuses (ENOSPC).
 */
export function openWatch(
  deps: { onHint: (name?: string) => void; onError: (error: unknown) => void },
  dir: string,
): Watch {
  const watcher = chokidar.watch(dir, {
    ignoreInitial: true,
    followSymlinks: false,
    atomic: false,
    // Account folders are one level of their own.
    depth: MAX_DEPTH + 1,
    ignored: (path, stats) => (stats !== undefined && !stats.isDirectory()) || isPassedOver(dir, path),
  })
  // What came before the watch stood gave no event.
  watcher.on('ready', () => deps.onHint())
  watcher.on('raw', (_event, name) => deps.onHint(name ?? undefined))
  watcher.on('all', (_event, path) => deps.onHint(path))
  watcher.on('error', deps.onError)
  return { close: () => watcher.close() }
}

function isPassedOver(dir: string, path: string): boolean {
  const names = relative(dir, path).split(/[/\\]/).filter(Boolean)
  return names.some((name, i) => (i < 2 && (name === DONE || name === FAILED)) || isIgnored(name))
}

type Watched = {
  /** Looks whether the folder is there; false when it is gone, and then nothing is watched. */
  check(): Promise<boolean>
  /** Watches the folder, in which lie so many `entries`; anew when it is another folder than before. */
  follow(entries: number): Promise<void>
  /** whether changes are told by the system now */
  isTold(): boolean
  close(): Promise<void>
}

/**
 * The watcher lists a folder again, with a look at each entry, up to once a second while anything in it changes: with
 * 20,000 entries a growing file cost three quarters of a core. Above this many only the scan looks, and more often.
 */
const MOST_WATCHED = 2_000

/**
 * Makes the keeper of the watch. A watcher whose folder was deleted and made again, or mounted over, is blind without a
 * word; so each scan compares the folder with the one that is watched. With `polling` nothing is watched.
 */
export function makeWatched(
  deps: { problems: Problems; onHint: () => void },
  options: { dir: string; polling: boolean },
): Watched {
  const { problems } = deps
  const { dir } = options
  let folder = ''
  let current: { watch: Watch; folder: string; refused: boolean } | undefined
  const close = async () => {
    const closing = current
    current = undefined
    await closing?.watch.close()
  }
  const onError = (error: unknown) => {
    if (current) current.refused = true
    const mend = errorCode(error) === 'ENOSPC' ? '; raise fs.inotify.max_user_watches' : ''
    const sentence = `drop folder: the system does not tell of all changes (${errorLine(error)}); files are found by the scan, every few seconds${mend}`
    problems.begin('watch', sentence, error)
  }
  return {
    close,
    isTold: () => current !== undefined && !current.refused,
    async check() {
      const stats = await stat(dir).catch((error: unknown) => {
        const sentence = `drop folder: ${dir} cannot be read (${errorLine(error)}); mount or make it again, or set MUSETTE_DROP_DIR`
        problems.begin('vanished', sentence, error)
      })
      if (!stats?.isDirectory()) {
        if (stats) {
          problems.begin(
            'vanished',
            `drop folder: ${dir} is no folder; make one there, or set MUSETTE_DROP_DIR`,
          )
        }
        await close()
        return false
      }
      problems.end('vanished')
      // A folder made anew may get the number of the one that was deleted, but not its birth.
      folder = `${stats.dev}:${stats.ino}:${stats.birthtimeMs}`
      return true
    },
    async follow(entries) {
      const watchable = !options.polling && entries <= MOST_WATCHED
      if (watchable && current?.folder === folder) return
      await close()
      problems.end('watch')
      if (watchable) {
        current = { watch: openWatch({ onHint: deps.onHint, onError }, dir), folder, refused: false }
      }
    },
  }
}

/** `refused` is what the system answered instead of watching: ENOSPC when it watches too much already. */
export type Probed = { noticed: boolean; refused?: unknown }

/** A local disk tells within milliseconds; a machine that is busy may take a while, also to make the watch. */
const WITHIN_MS = 5 * SECOND

/**
 * Writes a hidden file, which no scan looks at, into a folder and sees whether a watch like the drop folder's own notices
 * it; the file is gone when this resolves. Throws Node's errors when the folder cannot be written. The options are for tests.
 */
export async function probeFolder(
  dir: string,
  { watchFolder = openWatch, withinMs = WITHIN_MS } = {},
): Promise<Probed> {
  const name = `.musette-probe-${randomUUID()}`
  const standing = makeFlag()
  const noticed = makeFlag()
  let refused: unknown
  const watch = watchFolder(
    {
      onHint: (told) => (told === undefined ? standing : told.endsWith(name) ? noticed : undefined)?.raise(),
      onError: (error) => {
        refused ??= error
        standing.raise()
      },
    },
    dir,
  )
  try {
    await standing.within(withinMs)
    await writeFile(join(dir, name), '', { flag: 'wx', mode: 0o600 })
    const told = await noticed.within(withinMs)
    return { noticed: told, ...(refused !== undefined && { refused }) }
  } finally {
    await rm(join(dir, name), { force: true }).catch(() => undefined)
    await watch.close()
  }
}

function makeFlag() {
  const raised = new AbortController()
  return {
    raise: () => raised.abort(),
    /** Waits for the flag, `ms` at most, and tells whether it is up. */
    async within(ms: number): Promise<boolean> {
      await sleep(ms, raised.signal).catch(() => undefined)
      return raised.signal.aborted
    },
  }
}
