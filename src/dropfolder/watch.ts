import { relative } from 'node:path'
import chokidar from 'chokidar'
import { DONE, FAILED, isIgnored } from './disk/ignored.ts'
import { MAX_DEPTH } from './disk/walk.ts'

export type Watch = { close(): Promise<void> }

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
