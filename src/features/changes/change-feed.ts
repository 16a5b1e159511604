import type { Logger } from 'pino'
import { openChangeListener } from '../../core/store/feed/change-listener.ts'
import { type Change, checkSince, findChanges } from '../../core/store/feed/change-rows.ts'
import type { Store } from '../../core/store/store.ts'
import { TransientError } from '../../kit/errors.ts'
import { SECOND, sleep } from '../../kit/time.ts'

const PAGE = 500
/** Without a notification, as behind a pooler. */
const LOOK_EVERY_MS = 10 * SECOND
/** While a transaction that runs holds recorded changes back. */
const LOOK_AGAIN_MS = SECOND / 4

/**
 * Yields the settled changes after the number `since` in pages, oldest first. With `follow` it goes on with those to come, until
 * the signal aborts. Throws ConfigError `changes_pruned` or `changes_unknown` when changes after `since` may be missing.
 */
export async function* readChanges(
  app: { store: Store; databaseUrl: string; log: Logger },
  input: { since: number; follow: boolean; accountId?: number | undefined; signal: AbortSignal },
): AsyncGenerator<readonly Change[], void, undefined> {
  const { follow, accountId, signal } = input
  await app.store.read((tx) => checkSince(tx, input.since))
  let after = input.since
  const listener = follow
    ? openChangeListener(app, { connectionString: app.databaseUrl, channel: 'musette_changes' })
    : undefined
  try {
    while (!signal.aborted) {
      const read = () => app.store.read((tx) => findChanges(tx, { after, limit: PAGE, accountId }))
      const page = await read().catch(async (error: unknown) => {
        if (!follow || !(error instanceof TransientError)) throw error
        // Its connection is lost, and another one may do; a database that is away ends it.
        await sleep(SECOND, signal).catch(() => undefined)
        return read()
      })
      after = page.changes.at(-1)?.changeId ?? after
      if (page.changes.length > 0) yield page.changes
      else if (listener) await listener.wait(page.waiting ? LOOK_AGAIN_MS : LOOK_EVERY_MS, signal)
      else return
    }
  } finally {
    await listener?.close()
  }
}
