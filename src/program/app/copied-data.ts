import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { closeAfter } from '../../kit/release-stack.ts'

/** The file with the newest change that the daemon saw of a database. */
export function seenChangePath(dataDir: string, identity: string): string {
  return join(dataDir, `newest-change-${identity}.json`)
}

/**
 * Gives the embedded database a line of its own when its data directory is a copy, so that the folders of the other one stay with that. The
 * process that runs the server does it. The tables must be at this version.
 */
export async function followCopiedData(
  { log }: { log: Logger },
  { database, dataDir }: { database: { url: string; isRunHere?(): boolean }; dataDir: string },
): Promise<void> {
  if (!database.isRunHere?.()) return
  const { followCopy } = await import('../../embedded/copied.ts')
  await followCopy(dataDir, async () => {
    const { openStore } = await import('../../core/store/store.ts')
    const { beginCopy } = await import('../../core/store/feed/follow-database.ts')
    const store = openStore({ log }, { connectionString: database.url })
    const { identity, line } = await closeAfter(store, ({ transaction }) => transaction(beginCopy))
    // It names the line of the other one.
    await rm(seenChangePath(dataDir, identity), { force: true })
    log.warn({ line }, 'the data directory is a copy of another one; its database has a new line')
  })
}
