import type { Logger } from 'pino'
import { openChangeListener } from '../../core/store/feed/change-listener.ts'
import { type Change, checkSince, findChanges } from '../../core/store/feed/change-rows.ts'
import type { Store } from '../../core/store/store.ts'
import { errorLine, MusetteError } from '../../kit/errors.ts'
import { SECOND, sleep } from '../../kit/time.ts'

const PAGE = 500
/** Interval between reads if no notification arrives, for example behind a pooler, ms. */
const LOOK_EVERY_MS = 10 * SECOND
/** Interval between reads while an open transaction delays recorded changes, ms. */
const LOOK_AGAIN_MS = SECOND / 4

/** Pause between two attempts to read an unreachable database, ms. */
const TRY_AGAIN_MS = SECOND
/** Number of consecutive failed reads that count as an outage; a single failure may be a lost connection of the pool. */
const OUTAGE_AFTER = 2

/**
 * Yields the settled changes after the number `since` in pages, oldest first. With `follow`, continues with new changes, even after an
 * outage of the database, until the signal aborts. Throws ConfigError `changes_pruned` or `changes_unknown` if changes after `since` may be
 * missing.
 */
export async function* readChanges(
  app: { store: Store; databaseUrl: string; log: Logger },
  input: { since: number; follow: boolean; accountId?: number | undefined; signal: AbortSignal },
): AsyncGenerator<readonly Change[], void, undefined> {
  const { follow, accountId, signal } = input
  await app.store.read((tx) => checkSince(tx, input.since))
  let after = input.since
  let failures = 0
  const listener = follow
    ? openChangeListener(app, { connectionString: app.databaseUrl, channel: 'musette_changes' })
    : undefined
  try {
    while (!signal.aborted) {
      const reading = app.store.read((tx) => findChanges(tx, { after, limit: PAGE, accountId }))
      const page = await reading.catch((error: unknown) => {
        // Retry after any of our errors, because an outage has many causes: a restart, a restore, a password that was changed on one side.
        if (!follow || !(error instanceof MusetteError)) throw error
        failures += 1
        if (failures === OUTAGE_AFTER) {
          const reason = errorLine(error)
          app.log.warn({ reason }, 'the database cannot be read; musette continues when it works again')
        }
        return undefined
      })
      if (!page) {
        await sleep(TRY_AGAIN_MS, signal).catch(() => undefined)
        continue
      }
      if (failures >= OUTAGE_AFTER) app.log.info('the database works again')
      failures = 0
      after = page.changes.at(-1)?.changeId ?? after
      if (page.changes.length > 0) yield page.changes
      else if (listener) await listener.wait(page.waiting ? LOOK_AGAIN_MS : LOOK_EVERY_MS, signal)
      else return
    }
  } finally {
    await listener?.close()
  }
}
