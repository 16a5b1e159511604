import { stat } from 'node:fs/promises'
import { errorCode, errorLine } from '../kit/errors.ts'
import type { Problems } from './problems.ts'
import { openWatch, type Watch } from './watch.ts'

export type Watched = {
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
