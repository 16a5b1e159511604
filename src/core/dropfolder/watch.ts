import { relative } from 'node:path'
import chokidar from 'chokidar'
import { errorCode, errorLine } from '../../kit/errors.ts'
import { openFolder } from '../../kit/folders/folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import type { Problems } from './folder-report.ts'
import { DONE, FAILED, isIgnored, MAX_DEPTH } from './walk-folder.ts'

type Watch = { close(): Promise<void> }

/**
 * Watches the drop folder and calls `onHint` at every change; the scan then finds the files. Watches folders only, because a system watch on
 * a folder also reports changes of its files: 20,000 files would need 20,000 watches. `onHint` gets the changed name if the system reports
 * it, and one call without a name once the watch is open. `onError` gets the system's errors (ENOSPC).
 */
export function openWatch(
  deps: { onHint: (name?: string) => void; onError: (error: unknown) => void },
  dir: string,
): Watch {
  const watcher = chokidar.watch(dir, {
    ignoreInitial: true,
    followSymlinks: false,
    atomic: false,
    // Account folders add one level.
    depth: MAX_DEPTH + 1,
    ignored: (path, stats) => (stats !== undefined && !stats.isDirectory()) || isIgnoredBelow(dir, path),
  })
  // Files written before the watch opened caused no event.
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
 * Maximum entries in a watched folder; larger folders are scanned more often instead. While anything in a folder changes, chokidar reads all
 * its entries up to once a second: with 20,000 entries, one growing file used 75 % of a core.
 */
const MAX_WATCHED_ENTRIES = 2_000

/**
 * Makes the drop folder's watch, which each scan updates. A watch reports neither changes nor an error after its folder was recreated or
 * mounted over, so each scan compares the folder with the watched one. With `polling` nothing is watched.
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
    const sentence = `drop folder: the system does not report all changes (${errorLine(error)}); musette scans the folder every few seconds${mend}`
    problems.begin('watch', sentence, error)
  }
  return {
    close,
    /** Reports whether the system reports changes now. */
    isWatching: () => current !== undefined && !current.refused,
    /** Reports whether the folder exists; stops watching if it is gone. */
    async check() {
      try {
        const stats = await closeAfter(await openFolder(dir), (opened) => opened.stats())
        // A recreated folder may get the old inode, but not the old birth time.
        folder = `${stats.dev}:${stats.ino}:${stats.birthtimeMs}`
      } catch (error) {
        const sentence =
          errorCode(error) === 'ENOTDIR'
            ? `drop folder: ${dir} is not a folder; create one there, or set MUSETTE_DROP_DIR`
            : `drop folder: ${dir} cannot be read (${errorLine(error)}); mount or create it, or set MUSETTE_DROP_DIR`
        problems.begin('vanished', sentence, error)
        await close()
        return false
      }
      problems.end('vanished')
      return true
    },
    /** Watches the folder, which has this number of `entries`; opens a new watch if the folder is not the watched one. */
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

/** Delay from the first hint to the scan: copying many files causes a burst of hints, and one scan answers them all. */
const HINT_MS = 100
/**
 * Maximum pause between walks that find no work, as a multiple of the last walk's duration, so that walks use at most 5 % of a core. A walk
 * over 20,000 files takes most of a second, and a recorder causes one hint a second for hours.
 */
const MAX_PAUSE_FACTOR = 20

/** Makes the scan timer: it scans after hints, at requested times, and at most `everyMs()` after the last walk. */
export function makeScanTimer(options: { scan: () => Promise<void>; everyMs: () => number }) {
  let timer: NodeJS.Timeout | undefined
  let dueAt = Number.POSITIVE_INFINITY
  let earliest = 0
  let idleWalks = 0
  let closed = false
  /** Schedules a scan within `ms`. */
  const scanIn = (ms: number) => {
    const at = Math.max(performance.now() + Math.min(ms, options.everyMs()), earliest)
    if (closed || at >= dueAt) return
    clearTimeout(timer)
    dueAt = at
    // The time may already have passed, and newer Node versions warn of a negative delay.
    const waitMs = Math.max(0, at - performance.now())
    timer = setTimeout(() => {
      dueAt = Number.POSITIVE_INFINITY
      void options.scan()
    }, waitMs)
  }
  return {
    /** Schedules a scan soon, after a hint from the system. */
    scanSoon: () => scanIn(HINT_MS),
    scanIn,
    /** Runs a walk, which returns the number of files with work, and measures its duration. */
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
