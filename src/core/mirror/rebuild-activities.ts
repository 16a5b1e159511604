import { setImmediate as nextTurn } from 'node:timers/promises'
import { ConfigError, errorLine, isAbort } from '../../kit/errors.ts'
import { eachAtOnce, makeSemaphore } from '../../kit/semaphore.ts'
import { deriveContent, elapsedSeconds, normalizeActivity } from '../normalize/activity-answer.ts'
import { DEFAULT_MAX_BODY_BYTES } from '../service/http-message.ts'
import { readActivity } from '../service/service.ts'
import type { Account } from '../store/account-rows.ts'
import { updateActivities } from '../store/activities/activity-changes.ts'
import { findRawDocuments, type RebuildItem, unpackDocument } from '../store/activities/raw-documents.ts'
import { type StoredDetail, writeActivities } from '../store/activities/write-activities.ts'
import { findChangedAccounts } from '../store/feed/change-rows.ts'
import { replaceContent } from '../store/samples/content.ts'
import { findStoredSamples, findUnmeasured, lockUnmeasured } from '../store/samples/stored-samples.ts'
import { inHalves, isDatabaseUnreachable } from './failures.ts'
import type { MirrorDeps } from './mirror.ts'
import { updateRoutes } from './routes.ts'

/** Stored bytes per batch, about 40,000 samples. Batches are this large because each transaction and each COPY has a fixed cost. */
const BATCH_BYTES = 3_500_000
/** Maximum activities per batch, for activities with few or no samples. */
const MAX_BATCH_ACTIVITIES = 10
/** Number of concurrent batches: while Postgres writes a batch, the next batches are read. */
const BATCHES_AT_ONCE = 4
/** Maximum stored bytes in all concurrent batches: one or two rides of 24 hours. */
const BYTES_AT_ONCE = 10_000_000

type RebuildDeps = Pick<MirrorDeps, 'store' | 'vacuum' | 'log'>

/** Outcome of rebuilding an activity. `newer`: its response was replaced or removed meanwhile, and nothing was written. */
export type RebuildEnd = { item: RebuildItem } & (
  | { result: 'rebuilt'; samples: number }
  | { result: 'newer' }
  | { result: 'failed'; reason: string }
)

/**
 * Derives all values of activities again from their stored responses, without the service, with the functions of `mirrorActivity`. `items` are
 * sorted by id. `onEnds` gets the results of each batch, and the id up to which all items are done. An activity that cannot be rebuilt is
 * logged, and the others continue. Throws TransientError if the database is unreachable, and the signal's reason; committed batches stay.
 */
export async function rebuildActivities(
  deps: RebuildDeps,
  input: {
    items: readonly RebuildItem[]
    signal?: AbortSignal
    onEnds: (ends: readonly RebuildEnd[], through: number) => Promise<void> | void
  },
): Promise<void> {
  const { signal, onEnds } = input
  const underWay = new Set<number>()
  let last = 0
  const room = makeSemaphore(BYTES_AT_ONCE)
  const giveUp = async (part: readonly RebuildItem[], error: unknown) => {
    if (isAbort(error, signal) || error instanceof ConfigError || isDatabaseUnreachable(error)) throw error
    return part.map((item) => failed(deps, item, error))
  }
  await deps.vacuum.beforeRewrite()
  const rebuild = async (items: readonly RebuildItem[]) => {
    signal?.throwIfAborted()
    const [firstId = 0, lastId = 0] = [items[0]?.activityId, items.at(-1)?.activityId]
    underWay.add(firstId)
    last = lastId
    const ends = await inHalves(items, (part) => rebuildBatch(deps, part), giveUp)
    underWay.delete(firstId)
    await onEnds(ends, underWay.size > 0 ? Math.min(...underWay) - 1 : last)
  }
  await eachAtOnce(batchesOf(input.items), BATCHES_AT_ONCE, ({ items, bytes }) =>
    room(bytes, () => rebuild(items)),
  )
}

function* batchesOf(items: readonly RebuildItem[]) {
  for (let start = 0; start < items.length; ) {
    let end = start
    let bytes = 0
    while (end < items.length && end - start < MAX_BATCH_ACTIVITIES && bytes < BATCH_BYTES) {
      bytes += items[end]?.bytes ?? 0
      end++
    }
    yield { items: items.slice(start, end), bytes }
    start = end
  }
}

async function rebuildBatch(deps: RebuildDeps, items: readonly RebuildItem[]): Promise<RebuildEnd[]> {
  const activityIds = items.map(({ activityId }) => activityId)
  const documents = await deps.store.read((tx) => findRawDocuments(tx, activityIds))
  const bodies = items.map(async ({ activityId }) => {
    const document = documents.get(activityId)
    return document && { document, body: await unpackDocument(document, DEFAULT_MAX_BODY_BYTES) }
  })
  // Each body is awaited below, after the bodies before it are parsed.
  for (const body of bodies) body.catch(() => undefined)
  const ends: RebuildEnd[] = []
  const derived: Array<{ item: RebuildItem; detail: StoredDetail }> = []
  for (const [index, item] of items.entries()) {
    try {
      const unpacked = await bodies[index]
      if (unpacked) derived.push({ item, detail: derive(item, unpacked.body, unpacked.document.sha256) })
      else ends.push({ item, result: 'newer' })
    } catch (error) {
      ends.push(failed(deps, item, error))
    }
    // Another batch is being written meanwhile and needs the main thread.
    await nextTurn()
  }
  return [...ends, ...(await record(deps, derived))]
}

/** Derives an activity's rows from a stored response. Throws UnexpectedResponseError if the response cannot be read. */
export function derive(
  { activityId, path }: Pick<RebuildItem, 'activityId' | 'path'>,
  body: Buffer,
  sha256: string,
): StoredDetail {
  const wire = readActivity({ status: 200, headers: {}, body }, `the stored answer of activity ${path}`)
  return { ...normalizeActivity(wire).derived, activityId, sha256 }
}

async function record(
  deps: RebuildDeps,
  derived: ReadonlyArray<{ item: RebuildItem; detail: StoredDetail }>,
): Promise<RebuildEnd[]> {
  if (derived.length === 0) return []
  const details = derived.map(({ detail }) => detail)
  const recorded = await deps.store.transaction((tx) => writeActivities(tx, details))
  const ends: RebuildEnd[] = []
  for (const [index, { item, detail }] of derived.entries()) {
    const result = recorded[index]?.result
    // Alone, it waits for the row and reads its document again.
    if (result === 'locked') ends.push(...(await rebuildBatch(deps, [item])))
    else if (result === 'written') ends.push({ item, result: 'rebuilt', samples: detail.samples.count })
    else ends.push({ item, result: 'newer' })
  }
  await deps.vacuum.afterWrite(recorded)
  return ends
}

function failed({ log }: RebuildDeps, item: RebuildItem, error: unknown): RebuildEnd {
  const reason = errorLine(error)
  log.error({ path: item.path, reason }, 'activity not rebuilt')
  return { item, result: 'failed', reason }
}

/**
 * Derives values from activities' stored samples (main run, power curve, seconds in zones, measures) if an older version omitted them or
 * computed them differently. Needs neither the service nor a stored response. Uses one transaction per activity, then finds routes. Returns
 * how many activities it completed. Throws TransientError if the database is unreachable, and the signal's reason.
 */
export async function completeMeasures(
  { store, log }: Omit<RebuildDeps, 'vacuum'>,
  signal?: AbortSignal,
): Promise<number> {
  const activityIds = await store.read(findUnmeasured)
  if (activityIds.length > 0)
    log.info({ activities: activityIds.length }, 'computing derived values from the samples')
  let measured = 0
  for (const activityId of activityIds) {
    signal?.throwIfAborted()
    const done = await store.transaction(async (tx) => {
      const known = await lockUnmeasured(tx, activityId)
      if (!known) return false
      const samples = await findStoredSamples(tx, activityId)
      const { main, run, place, ...derived } = deriveContent(samples, known)
      // Samples without any time have no run.
      const straySamples = run.straySamples ?? 0
      const ofRun = straySamples > 0 && { elapsedS: elapsedSeconds(main), ...place }
      await updateActivities(tx, [{ activityId, ...run, straySamples, ...ofRun }])
      await replaceContent(tx, [{ activityId, samples, ...derived, hasContent: true, keepsSamples: true }])
      return true
    })
    if (done) measured++
  }
  await updateRoutes({ store, log }, signal)
  return measured
}

/**
 * Fits `form_constants` again if activities' loads changed, for some accounts or all. Skips accounts without fetched activities: until the
 * first fetches end, the recorded reason would be a lack of activities.
 */
export async function fitForms(
  { store }: Pick<RebuildDeps, 'store'>,
  accounts?: readonly Pick<Account, 'accountId'>[],
  signal?: AbortSignal,
): Promise<void> {
  for (const { accountId } of accounts ?? (await store.read(findChangedAccounts))) {
    signal?.throwIfAborted()
    await store.transaction((tx) =>
      tx.client.query(
        `SELECT musette.fit_form($1)
         WHERE EXISTS (SELECT FROM training.activities WHERE account_id = $1 AND detail_state = 'mirrored')`,
        [accountId],
      ),
    )
  }
}
