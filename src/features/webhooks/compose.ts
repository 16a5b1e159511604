import { cleanJson } from '../../core/store/clean.ts'
import { type Change, findChanges } from '../../core/store/feed/change-rows.ts'
import type { Json } from '../../core/store/schema/schemas.ts'
import type { Store, Tx } from '../../core/store/store.ts'
import { DAY } from '../../kit/time.ts'
import type { MessageData } from './message-request.ts'
import {
  findConditionSubjects,
  findIsNewsThere,
  findRecalculation,
  findRecentMessageCount,
  recordCondition,
  recordDigestsEnded,
  recordForDigest,
  recordReady,
  recordWaiting,
} from './news.ts'
import { lockWebhooks, recordComposedUpTo, recordMessages } from './outbox.ts'
import type { Webhook, WebhookEvent } from './settings.ts'
import {
  type Condition,
  formatActivity,
  formatBreakthrough,
  formatCondition,
  formatDigest,
  formatLoginLost,
  formatRefused,
  formatRestored,
} from './texts.ts'

/** Age at which musette gives up an undelivered message, ms; older events get no message. */
export const MESSAGE_TTL_MS = 3 * DAY
/** Maximum age of an activity that gets a separate message, ms; older activities share a message. */
const RECENT_MS = 14 * DAY
/** Maximum number of separate messages: more new activities within minutes, or more refused files within an hour, share one message. */
const MAX_SINGLE = 5
/** Number of changes that one transaction reads, which takes a fraction of a second. */
const BATCH = 1_000

/**
 * The content of a message, for each webhook that wants the event. `changeId` is undefined if no single change caused the message. In that
 * case `about` identifies the cause, unless the same cause may occur again.
 */
type News = Readonly<{
  event: WebhookEvent
  accountId: number | null
  at: Date
  data: MessageData
  changeId?: number
  about?: string
}>
type NewsOfChange = News & { readonly changeId: number }

/**
 * Makes the messages about everything since the last call and moves the cursor in the same transaction, so that each event becomes one
 * message, even after a crash. Returns whether there may be more messages to make.
 */
export async function composeMessages(
  { store }: { store: Store },
  { webhooks, restMs }: { webhooks: readonly Webhook[]; restMs: number },
): Promise<boolean> {
  if (!(await store.read((tx) => findIsNewsThere(tx, { restMs })))) return false
  return store.transaction(async (tx) => {
    const after = await lockWebhooks(tx)
    const { changes } = await findChanges(tx, { after, limit: BATCH })
    const news = [
      ...(await newsOfChanges(tx, changes)),
      ...(await newsOfActivities(tx)),
      ...(await newsOfDigests(tx, restMs)),
    ]
    await recordNews(tx, webhooks, news)
    const last = changes.at(-1)
    if (last) await recordComposedUpTo(tx, last.changeId)
    return changes.length === BATCH
  })
}

/** Makes one message for each fault that began or ended. */
export async function composeConditions(
  { store }: { store: Store },
  { webhooks, conditions }: { webhooks: readonly Webhook[]; conditions: readonly Condition[] },
): Promise<void> {
  const wrong = await store.read(findConditionSubjects)
  const isNew = (condition: Condition) =>
    condition.state !== 'unknown' && (condition.state === 'wrong') !== wrong.has(subjectOf(condition))
  if (!conditions.some(isNew)) return
  await store.transaction(async (tx) => {
    await lockWebhooks(tx)
    const news: News[] = []
    for (const condition of conditions.filter(isNew)) {
      const { account, state } = condition
      if (state === 'unknown' || !(await recordCondition(tx, subjectOf(condition), state === 'wrong')))
        continue
      const accountId = account === null ? null : account.accountId
      news.push({ accountId, ...formatCondition(condition, state, new Date()) })
    }
    await recordNews(tx, webhooks, news)
  })
}

function subjectOf({ kind, account }: Condition): string {
  return account === null ? kind : `${kind} ${account.accountId}`
}

async function recordNews(tx: Tx, webhooks: readonly Webhook[], news: readonly News[]): Promise<void> {
  const messages = news.flatMap(({ event, accountId, at, data, changeId, about }) =>
    webhooks
      .filter((webhook) => webhook.events.includes(event))
      .map(({ name: webhook }) => ({
        ...{ webhook, account_id: accountId, event, occurred_at: at, change_id: changeId },
        about: about ?? changeId?.toString(),
        data: cleanJson(data) as { readonly [key: string]: Json },
      })),
  )
  await recordMessages(tx, messages)
}

/** A change of an account; other changes concern the default workouts. */
type AccountChange = Change & { accountId: number; account: string }

async function newsOfChanges(tx: Tx, changes: readonly Change[]): Promise<NewsOfChange[]> {
  const oldest = Date.now() - MESSAGE_TTL_MS
  const fresh = changes.filter(
    (change): change is AccountChange => change.account !== null && Date.parse(change.at) > oldest,
  )
  await recordWaiting(
    tx,
    fresh.flatMap(({ kind, accountId, path }) =>
      kind === 'activity.new' && path !== null ? [{ accountId, path }] : [],
    ),
  )
  const rescored = fresh.filter(isRescored).map(({ accountId }) => accountId)
  await recordForDigest(tx, 'history.recalculated', rescored)
  return [...newsOfRestores(changes), ...newsOfLogins(fresh), ...(await newsOfUploads(tx, fresh))].toSorted(
    (a, b) => a.changeId - b.changeId,
  )
}

/** The columns whose change counts as a recalculation, see the view recalculations. */
const SCORES = ['xss', 'sig_ftp', 'sig_pp', 'tl_ftp'] as const

function isRescored({ kind, detail }: Change): boolean {
  if (kind !== 'activity.changed') return false
  return SCORES.some((column) => {
    const change = detail[column]
    return Array.isArray(change) && change[0] !== null && change[1] !== null
  })
}

/** A restore concerns all accounts. */
function newsOfRestores(changes: readonly Change[]): NewsOfChange[] {
  const oldest = Date.now() - MESSAGE_TTL_MS
  const restores = changes.filter(({ kind, at }) => kind === 'restored' && Date.parse(at) > oldest)
  return restores.map(({ at, detail, changeId }) => {
    const facts = {
      up_to: typeof detail.up_to === 'number' ? detail.up_to : null,
      cause: textOf(detail.cause),
      backup_made_at: textOf(detail.backup_made_at),
      identity: textOf(detail.identity),
      line: textOf(detail.line),
    }
    return { accountId: null, changeId, ...formatRestored(new Date(at), facts) }
  })
}

function newsOfLogins(changes: readonly AccountChange[]): NewsOfChange[] {
  return changes.flatMap(({ kind, accountId, account, at, detail, changeId }) =>
    kind === 'login.lost'
      ? [{ accountId, changeId, ...formatLoginLost(account, new Date(at), textOf(detail.reason)) }]
      : [],
  )
}

/** The first refused files of an hour get a message each; the others share one message. */
async function newsOfUploads(tx: Tx, changes: readonly AccountChange[]): Promise<NewsOfChange[]> {
  const refused = changes.filter(({ kind }) => kind === 'upload.refused')
  const news: NewsOfChange[] = []
  const shared: number[] = []
  for (const accountId of new Set(refused.map((change) => change.accountId))) {
    const own = refused.filter((change) => change.accountId === accountId)
    const recent = await findRecentMessageCount(tx, { accountId, event: 'upload.refused' })
    const single = own.slice(0, Math.max(0, MAX_SINGLE - recent))
    for (const { account, at, changeId, detail } of single) {
      const facts = {
        files: 1,
        file_name: textOf(detail.file_name),
        content_id: textOf(detail.content_id),
        reason: textOf(detail.reason),
      }
      news.push({ accountId, changeId, ...formatRefused(account, new Date(at), facts) })
    }
    shared.push(...own.slice(single.length).map(() => accountId))
  }
  await recordForDigest(tx, 'upload.refused', shared)
  return news
}

/** New recent activities get a message each; old activities and those of a backfill share one message. */
async function newsOfActivities(tx: Tx): Promise<News[]> {
  const ready = await recordReady(tx, { recentMs: RECENT_MS })
  const isSingle = ({ seen_together: together }: (typeof ready)[number]) =>
    together !== null && together <= MAX_SINGLE
  const shared = ready.filter((activity) => !isSingle(activity)).map(({ account_id: id }) => id)
  await recordForDigest(tx, 'history.mirrored', shared)
  return ready.filter(isSingle).flatMap((activity) => {
    const breakthrough = formatBreakthrough(activity)
    const all = [formatActivity(activity), ...(breakthrough ? [breakthrough] : [])]
    return all.map((content) => ({ accountId: activity.account_id, about: activity.path, ...content }))
  })
}

async function newsOfDigests(tx: Tx, restMs: number): Promise<News[]> {
  const news: News[] = []
  for (const digest of await recordDigestsEnded(tx, { restMs })) {
    const { account_id: accountId, event, began_at: since } = digest
    const recalculation =
      event === 'history.recalculated' ? await findRecalculation(tx, { accountId, since }) : undefined
    const content = formatDigest(digest, recalculation)
    if (content) news.push({ accountId, about: since.toISOString(), ...content })
  }
  return news
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}
