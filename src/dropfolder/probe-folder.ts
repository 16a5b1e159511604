import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SECOND, sleep } from '../kit/time.ts'
import { openWatch } from './watch.ts'

/** `refused` is the system's error when it could not watch the folder: ENOSPC when too much is watched already. */
export type ProbeResult = { noticed: boolean; refused?: unknown }

/** A local disk reports a change within milliseconds; on a busy machine the watch alone may take a while to open. */
const WITHIN_MS = 5 * SECOND

/**
 * Writes a hidden file, which scans ignore, into a folder and checks whether a watch like the drop folder's own notices it;
 * the file is removed before this resolves. Throws Node's errors when the folder cannot be written. The options are for tests.
 */
export async function probeFolder(dir: string, { watchFolder = openWatch, withinMs = WITHIN_MS } = {}) {
  const name = `.musette-probe-${randomUUID()}`
  const [ready, noticed] = [new AbortController(), new AbortController()]
  /** Waits for one of them, at most `withinMs`, and returns whether it came. */
  const came = async ({ signal }: AbortController) => {
    await sleep(withinMs, signal).catch(() => undefined)
    return signal.aborted
  }
  let refused: unknown
  const watch = watchFolder(
    {
      onHint: (changed) =>
        (changed === undefined ? ready : changed.endsWith(name) ? noticed : undefined)?.abort(),
      onError: (error) => {
        refused ??= error
        ready.abort()
      },
    },
    dir,
  )
  try {
    await came(ready)
    await writeFile(join(dir, name), '', { flag: 'wx', mode: 0o600 })
    return { noticed: await came(noticed), ...(refused !== undefined && { refused }) }
  } finally {
    await rm(join(dir, name), { force: true }).catch(() => undefined)
    await watch.close()
  }
}
