import { relative } from 'node:path'
import chokidar from 'chokidar'
import { errorCode, errorLine } from '../../kit/errors.ts'
import { openFolder } from '../../kit/folders/folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import type { Problems } from './folder-report.ts'
import { DONE, FAILED, isIgnored, MAX_DEPTH } from './walk-folder.ts'

type Watch = { close(): Promise<void> }

/**
 * Watches the drop folder and calls `onHint` whenever something changes; the scan then finds the files. Only folders are watched, with one
 * system watch each, which also reports changes of their files: 20,000 files would need 20,000 watches. `onHint` gets the name if the
 * system has it, and is called once without a name when the watch is open. `onError` gets the system's errors (ENOSPC).
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
    ignored: (path, stats) => (stats !== undefined && !stats.isDirectory()) || isIgnoredBelow(dir, path),
  })
  // Files that came before the watch was open gave no event.
  watcher.on('ready', () => deps.onHint())
  watcher.on('raw', (_event, name) => deps.onHint(name ?? undefined))
  watcher.on('all', (_event, path) => deps.onHint(path))
  watcher.on('error', deps.onError)
  return { close: () => watcher.close() }
}

function isIgnoredBelow(dir: string, path: string): boolean {
  const names = relative(dir, path).split(/[/\\]/).filter(Boolean)
  return names.some((name, i) => (i < 2 && (name === DONE || name === FAILED)) || isIgnored(name))
}

/**
 * chokidar reads a folder and every entry in it up to once a second while anything in it changes: with 20,000 entries a
 * growing file cost three quarters of a core. A folder with more entries than this is only scanned, and more often.
 */
const MAX_WATCHED_ENTRIES = 2_000

/**
 * Makes the drop folder's watch, which each scan updates: a watch whose folder was deleted and created again, or mounted over, reports
 * nothing and no error, so each scan compares the folder with the watched one. With `polling` nothing is watched.
 */
export function folderWatch(
  deps: { problems: Problems; onHint: () => void },
  { dir, polling }: { dir: string; polling: boolean },
) {
  const { problems } = deps
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
    /** Tells whether the system reports changes now. */
    isWatching: () => current !== undefined && !current.refused,
    /** Checks whether the folder exists; false when it is gone, and then nothing is watched. */
    async check() {
      try {
        const stats = await closeAfter(await openFolder(dir), (opened) => opened.stats())
        // A new folder may get the inode of the deleted one, but not its time of birth.
        folder = `${stats.dev}:${stats.ino}:${stats.birthtimeMs}`
      } catch (error) {
        const sentence =
          errorCode(error) === 'ENOTDIR'
            ? `drop folder: ${dir} is not a folder; make one there, or set MUSETTE_DROP_DIR`
            : `drop folder: ${dir} cannot be read (${errorLine(error)}); mount or make it again, or set MUSETTE_DROP_DIR`
        problems.begin('vanished', sentence, error)
        await close()
        return false
      }
      problems.end('vanished')
      return true
    },
    /** Watches the folder with so many `entries`; opens a new watch when it is another folder than before. */
    async update(entries: number) {
      const watchable = !polling && entries <= MAX_WATCHED_ENTRIES
      if (watchable && current?.folder === folder) return
      await close()
      problems.end('watch')
      if (watchable)
        current = { watch: openWatch({ onHint: deps.onHint, onError }, dir), folder, refused: false }
    },
  }
}

/** A copy of many files gives a burst of hints; they are answered by one scan. */
const HINT_MS = 100
/**
 * A walk over 20,000 files takes a good part of a second, and a recorder gives a hint a second for hours. Between walks that find no work
 * lies a growing pause, up to this many times the duration of the last walk, so that walks cost no more than a twentieth of a core.
 */
const MAX_PAUSE_FACTOR = 20

/** Makes the timer of the scans: after hints, at requested times, and at the latest `everyMs()` after the last walk. */
export function makeScanTimer(options: { scan: () => Promise<void>; everyMs: () => number }) {
  let timer: NodeJS.Timeout | undefined
  let dueAt = Number.POSITIVE_INFINITY
  let earliest = 0
  let idleWalks = 0
  let closed = false
  /** Schedules a scan in so many ms at the latest. */
  const scanIn = (ms: number) => {
    const at = Math.max(performance.now() + Math.min(ms, options.everyMs()), earliest)
    if (closed || at >= dueAt) return
    clearTimeout(timer)
    dueAt = at
    // The time may have passed by now, and a newer Node warns of a negative delay.
    const waitMs = Math.max(0, at - performance.now())
    timer = setTimeout(() => {
      dueAt = Number.POSITIVE_INFINITY
      void options.scan()
    }, waitMs)
  }
  return {
    /** Schedules a scan soon, after a hint of the system. */
    scanSoon: () => scanIn(HINT_MS),
    scanIn,
    /** Runs a walk, which returns for how many files there was work, and measures how long it took. */
    async timeWalk(walk: () => Promise<number>) {
      const start = performance.now()
      const found = await walk()
      const end = performance.now()
      idleWalks = found > 0 ? 0 : idleWalks + 1
      earliest = end + Math.min(MAX_PAUSE_FACTOR, idleWalks) * (end - start)
      scanIn(options.everyMs())
      return found
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
