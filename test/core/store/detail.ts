import { gunzipSync } from 'node:zlib'
import { DETAIL_FIELDS } from '../../../src/core/fields/activity-fields.ts'
import { makeRow } from '../../../src/core/fields/field.ts'
import type { ActivityDetailRow } from '../../../src/core/store/activities/activity-changes.ts'
import {
  type ListedActivity,
  upsertListed,
  type WhenSame,
} from '../../../src/core/store/activities/upsert-listed.ts'
import {
  type AnsweredDetail,
  type Written,
  writeActivities,
} from '../../../src/core/store/activities/write-activities.ts'
import { deleteSamples, insertSamples } from '../../../src/core/store/samples/content.ts'
import type { Samples } from '../../../src/core/store/samples/encode-samples.ts'
import type { Store, Tx } from '../../../src/core/store/store.ts'
import { makeSamples } from '../../kit/samples.ts'
import { listed, makeAccount, openTestStore, rowsOf } from './open.ts'

/** Opens a store with an account; `list` records a list. */
export async function openAccount() {
  const opened = await openTestStore()
  const { store } = opened
  const accountId = await makeAccount(store)
  const list = (entries: readonly ListedActivity[], listedAt: Date, whenSame?: WhenSame) =>
    store.transaction((tx) =>
      upsertListed(tx, { accountId, entries, listedAt, ...(whenSame && { whenSame }) }),
    )
  return { ...opened, accountId, list }
}

/** Opens a store with an account and one wanted activity; `record` records an answer about it. */
export async function openActivity(listedAt: Date) {
  const opened = await openAccount()
  await opened.list([listed('p1')], listedAt)
  const [row] = await opened.sql`SELECT activity_id FROM training.activities`
  const activityId = Number(row?.activity_id)
  const record = (requestedAt: Date, change?: Partial<AnsweredDetail>) =>
    opened.store.transaction((tx) => recordDetail(tx, detailInput(activityId, requestedAt, change)))
  return { ...opened, activityId, record }
}

/** Makes a detail row in which only `change` has values. */
export function detailRow(change: Partial<ActivityDetailRow> = {}): ActivityDetailRow {
  return { ...makeRow(DETAIL_FIELDS, {}), ...change }
}

/** The place of an activity without positions. */
export const NOWHERE = { startLat: null, startLng: null, south: null, north: null, west: null, east: null }

/** Makes an input of writeActivities for a complete answer with three samples. */
export function detailInput(
  activityId: number,
  requestedAt: Date,
  change: Partial<AnsweredDetail> = {},
): AnsweredDetail {
  return {
    activityId,
    requestedAt,
    row: detailRow({ xss: 80, elapsedS: 2 }),
    summary: { xss: 80 },
    summaryHash: 'first',
    place: NOWHERE,
    run: { straySamples: 0, recordedFrom: null },
    samples: makeSamples(3),
    detailState: 'mirrored',
    nextFetchAt: null,
    ...change,
  }
}

/** Records a single detail. */
export async function recordDetail(tx: Tx, input: AnsweredDetail): Promise<Written['result'] | undefined> {
  const [written] = await writeActivities(tx, [input])
  return written?.result
}

/** Replaces the samples of one activity; returns how many it wrote. */
export async function replaceSamples(tx: Tx, activityId: number, samples: Samples): Promise<number> {
  await deleteSamples(tx, [activityId])
  return await insertSamples(tx, [{ activityId, samples }])
}

/** Reads the raw document of an activity, decompressed. */
export async function rawDocumentOf(store: Store, activityId: number): Promise<Buffer> {
  const text = `SELECT encoding, body FROM training.raw_documents WHERE activity_id = $1`
  const [row] = await rowsOf(store, text, [activityId])
  if (row?.encoding !== 'gzip' || !(row.body instanceof Buffer))
    throw new Error('the activity has no raw document')
  return gunzipSync(row.body)
}
