import type { App } from '../app/app.ts'
import { ConfigError, errorLine } from '../kit/errors.ts'
import { MINUTE, sleep } from '../kit/time.ts'
import { checkSchema } from '../store/migrate.ts'

/** How often the schema's version is compared, ms: a query of two small tables. */
const EVERY_MS = 1 * MINUTE

type SchemaWatch = {
  /** resolves with the ConfigError once the database is no longer at this process's version; never without that */
  changed: Promise<ConfigError>
  close(): Promise<void>
}

/**
 * Watches whether another musette has migrated the database meanwhile: a process of the older version would go on writing
 * rows that lack what the newer one derives. A database that is away changes nothing.
 */
export function openSchemaWatch(
  { store, log }: Pick<App, 'store' | 'log'>,
  { everyMs = EVERY_MS }: { everyMs?: number | undefined } = {},
): SchemaWatch {
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
    changed,
    async close() {
      closed.abort()
      await watching
    },
  }
}
