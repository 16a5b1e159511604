import { checkSchema } from '../../core/store/migration/schema-version.ts'
import { ConfigError, errorLine } from '../../kit/errors.ts'
import { MINUTE, sleep } from '../../kit/time.ts'
import type { App } from '../app/app.ts'

/** How often the schema's version is compared, ms: a query of two small tables. */
const EVERY_MS = 1 * MINUTE

/**
 * Opens a watch that checks the version of the database every minute (`everyMs`): after a migration by a newer musette an older
 * process would write rows without the newer version's derived columns. An unreachable database is ignored.
 */
export function openSchemaWatch(
  { store, log }: Pick<App, 'store' | 'log'>,
  { everyMs = EVERY_MS }: { everyMs?: number | undefined } = {},
) {
  const closed = new AbortController()
  let onChanged: (error: ConfigError) => void = () => undefined
  const changed = new Promise<ConfigError>((resolve) => {
    onChanged = resolve
  })
  const watch = async () => {
    for (;;) {
      await sleep(everyMs, closed.signal)
      try {
        await store.read(checkSchema)
      } catch (error) {
        if (error instanceof ConfigError) return onChanged(error)
        log.debug({ reason: errorLine(error) }, 'the version of the database cannot be read now')
      }
    }
  }
  const watching = watch().catch(() => undefined)
  return {
    /** resolves with the ConfigError when the database is at another version than this process; else stays pending */
    changed,
    async close() {
      closed.abort()
      await watching
    },
  }
}
