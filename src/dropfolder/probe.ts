import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SECOND } from '../kit/durations.ts'
import { sleep } from '../kit/sleep.ts'
import { openWatch } from './watch.ts'

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
