import { findIdentity } from '../../core/store/database-facts.ts'
import { followDatabase, type SeenChange } from '../../core/store/feed/follow-database.ts'
import { checkSchema } from '../../core/store/migration/schema-version.ts'
import { ConfigError, errorLine, TransientError } from '../../kit/errors.ts'
import { readPlainFile, writeDurably } from '../../kit/files.ts'
import { startWork } from '../../kit/release-stack.ts'
import { MINUTE, sleep } from '../../kit/time.ts'
import type { App } from '../app/app.ts'
import { seenChangePath } from '../app/open-database.ts'

/** How often the watch checks the database, ms: a check is a few queries on small tables. */
const LOOK_EVERY_MS = 1 * MINUTE

/**
 * Opens a watch that checks the database now and every minute. The watch begins a new line as followDatabase does, and stores the newest
 * change that it saw in a file of the data directory. It also checks the schema's version: after a migration by a newer musette, an older
 * process would write rows without the newer derived columns. Throws the errors of the store now; later it ignores an unreachable database.
 */
export async function openDatabaseWatch(
  { store, log, config }: Pick<App, 'store' | 'log' | 'config'>,
  everyMs = LOOK_EVERY_MS,
) {
  let onChanged: (error: Error) => void = () => undefined
  const changed = new Promise<Error>((resolve) => {
    onChanged = resolve
  })
  const { identity } = await store.read(findIdentity)
  const path = seenChangePath(config.dataDir, identity)
  let seen: SeenChange | undefined = await readPlainFile(path)
    .then((text) => JSON.parse(String(text)))
    .catch(() => undefined)
  const look = async () => {
    const { newest, database } = await store.transaction((tx) => followDatabase(tx, seen))
    if (newest && newest.changeId !== seen?.changeId)
      await writeDurably(path, JSON.stringify(newest)).catch((error: unknown) =>
        log.debug({ reason: errorLine(error) }, 'the newest change cannot be kept in the data directory'),
      )
    seen = newest
    return database
  }
  const database = await look()
  const watch = async (signal: AbortSignal) => {
    for (let { line } = database; ; ) {
      await sleep(everyMs, signal)
      try {
        await store.read(checkSchema)
        const now = await look()
        if (now.line === line) continue
        const message = 'the database has moved or was put back; it has a new line'
        log.warn({ line: now.line }, message)
        // Open the daemon again, because a queue in Redis belongs to one line.
        if (config.redisUrl) return onChanged(new TransientError('database_new_line', message))
        line = now.line
      } catch (error) {
        if (error instanceof ConfigError) return onChanged(error)
        log.debug({ reason: errorLine(error) }, 'the database cannot be read now')
      }
    }
  }
  return {
    ...startWork((signal) => watch(signal).catch(() => undefined)),
    database,
    /** resolves with ConfigError if the schema version changed, or with TransientError `database_new_line` to open again; otherwise stays pending */
    changed,
  }
}
