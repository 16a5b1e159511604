import { webhookMessages } from '../../core/store/schema/index.ts'
import type { Json } from '../../core/store/schema/schemas.ts'
import type { Tx } from '../../core/store/store.ts'
import type { Message } from './message-request.ts'

/**
 * A message to be sent; `data` must be clean, see cleanJson. `change_id` is the number of the change that caused it. A message with `about`
 * always gets the same id, even if a restored database has lost the message.
 */
type NewMessage = Readonly<{
  webhook: string
  account_id: number | null
  event: string
  occurred_at: Date
  data: { readonly [key: string]: Json }
  change_id?: number | undefined
  about?: string | undefined
}>

/**
 * Records messages to be sent, in this order. Skips messages about a change before its webhook was added, and messages to a webhook that is
 * gone.
 */
export async function recordMessages(tx: Tx, messages: readonly NewMessage[]): Promise<void> {
  if (messages.length === 0) return
  await tx.client.query(
    `insert into musette.webhook_messages (webhook, account_id, event, occurred_at, data, message_id)
     select m.webhook, m.account_id, m.event, m.occurred_at, m.data,
       case when m.about is null then gen_random_uuid() else md5(jsonb_build_array(d.identity, m.webhook, m.account_id, m.event, m.about)::text)::uuid end
     from training.database d, rows from (jsonb_to_recordset($1::jsonb) as (webhook text, account_id integer, event text,
       occurred_at timestamptz, data jsonb, change_id bigint, about text)) with ordinality m
     join musette.webhooks w on w.name = m.webhook and w.gone_at is null and (m.change_id is null or m.change_id > w.change_id)
     order by m.ordinality on conflict (message_id) do nothing`,
    [JSON.stringify(messages)],
  )
}

/** Faults that need a person. */
const URGENT = `('login.lost', 'mirror.stale', 'backup.failed')`
/**
 * True for a message that is set aside: musette retries the message, but no other message waits for it. The receiver has refused the
 * message four times, in about two minutes: with a 4xx (except 408, 425 and 429, which ask to wait) or with a 500, which may be caused by
 * the message's content.
 */
const isAside = (m: string) =>
  `${m}.state = 'open' and ${m}.attempts >= 4 and ${m}.last_error ~ '^HTTP (4|500)' and ${m}.last_error !~ '^HTTP 4(08|25|29)'`

// A message is due if its time has come and no earlier message of the same webhook and account must be sent first.
const DUE = `m.state = 'open' and m.next_try_at <= clock_timestamp() and not exists (
  select from musette.webhook_messages e
  where e.state = 'open' and e.webhook = m.webhook and e.account_id is not distinct from m.account_id and e.number < m.number
    and (${isAside('e')}) is not true and (m.event not in ${URGENT} or e.event in ${URGENT}))`

export async function findDueWebhooks(tx: Tx): Promise<string[]> {
  const { rows } = await tx.client.query<{ webhook: string }>(
    `select distinct m.webhook from musette.webhook_messages m where ${DUE}`,
  )
  return rows.map(({ webhook }) => webhook)
}

export type ClaimedMessage = Message & Readonly<{ number: number; attempts: number }>

/**
 * Claims an urgent message of a webhook, or else the message that has been due for the longest time. No other process sends the claimed
 * message within `leaseMs`. Returns undefined if no message is due. The claim is a time in the message's row, so that no lock is held
 * during the request.
 */
export async function claimMessage(tx: Tx, { webhook, leaseMs }: { webhook: string; leaseMs: number }) {
  const { rows } = await tx.client.query<ClaimedMessage>(
    `update musette.webhook_messages set attempts = attempts + 1,
       next_try_at = clock_timestamp() + $2 * interval '1 ms'
     where state = 'open' and next_try_at <= clock_timestamp() and number = (
       select m.number from musette.webhook_messages m where m.webhook = $1 and ${DUE}
       order by m.event in ${URGENT} desc, m.next_try_at, m.number limit 1)
     returning number::float8 as number, message_id as id, event, occurred_at as at, data, attempts`,
    [webhook, leaseMs],
  )
  return rows[0]
}

export async function recordDelivered(tx: Tx, number: number): Promise<void> {
  await tx.client.query(
    `update musette.webhook_messages set state = 'delivered', ended_at = clock_timestamp(), last_error = null
     where number = $1 and state = 'open'`,
    [number],
  )
}

/**
 * Records why an attempt failed, and the pause before the next one. Gives the message up if it would be older than `giveUpMs` at the next
 * attempt. Returns the message's state.
 */
export async function recordNotDelivered(
  tx: Tx,
  input: { number: number; error: string; pauseMs: number; giveUpMs: number },
): Promise<'open' | 'given_up'> {
  const { rows } = await tx.client.query<{ state: 'open' | 'given_up' }>(
    `update musette.webhook_messages set last_error = $2, next_try_at = clock_timestamp() + $3 * interval '1 ms',
       state = case when created_at < clock_timestamp() + ($3 - $4) * interval '1 ms' then 'given_up' else 'open' end,
       ended_at = case when created_at < clock_timestamp() + ($3 - $4) * interval '1 ms' then clock_timestamp() end
     where number = $1 and state = 'open' returning state`,
    [input.number, input.error, input.pauseMs, input.giveUpMs],
  )
  return rows[0]?.state ?? 'open'
}

/** Gives up the open messages older than `giveUpMs`; returns the number for each webhook. */
export async function recordMessagesExpired(tx: Tx, { giveUpMs }: { giveUpMs: number }) {
  const rule = `created_at < clock_timestamp() - $1 * interval '1 ms'`
  return endMessages(tx, rule, [giveUpMs, 'given_up', 'it waited for an earlier message'])
}

/** Records that the receiver refuses further messages, and gives up the open messages. Returns their number. */
export async function recordGone(tx: Tx, webhook: string): Promise<number> {
  await tx.client.query('update musette.webhooks set gone_at = clock_timestamp() where name = $1', [webhook])
  const reason = 'HTTP 410: the receiver wants no more messages'
  const [ended] = await endMessages(tx, 'webhook = $1', [webhook, 'given_up', reason])
  return ended?.count ?? 0
}

/** Ends the open messages that match an SQL condition on the first value; the second value is the new state, the third is the reason. */
async function endMessages(
  tx: Tx,
  rule: string,
  values: readonly [unknown, 'given_up' | 'dropped', string],
): Promise<Array<{ webhook: string; count: number }>> {
  const { rows } = await tx.client.query<{ webhook: string; count: number }>(
    `with ended as (
       update musette.webhook_messages set state = $2, ended_at = clock_timestamp(), last_error = coalesce(last_error, $3)
       where state = 'open' and ${rule} returning webhook)
     select webhook, count(*)::int as count from ended group by webhook order by webhook`,
    [...values],
  )
  return rows
}

/** Deletes old messages: given-up ones 90 days after they ended, others after a week. */
export async function deleteOldMessages(tx: Tx): Promise<void> {
  await tx.client.query(
    `delete from musette.webhook_messages where ended_at < clock_timestamp() - interval '7 days'
     and (state <> 'given_up' or ended_at < clock_timestamp() - interval '90 days')`,
  )
}

/**
 * Makes the known webhooks equal to the webhooks of the file. A new webhook gets messages about changes with higher numbers only, even if
 * other transactions are open. The open messages of a removed webhook are dropped. Returns the dropped messages by webhook, and the number
 * of new webhooks.
 */
export async function recordWebhooks(tx: Tx, names: readonly string[]) {
  await tx.client.query('delete from musette.webhooks where name <> all ($1)', [names])
  await tx.client.query('update musette.webhooks set gone_at = null where gone_at is not null')
  const reason = 'the webhook was removed from the file'
  const dropped = await endMessages(tx, 'webhook <> all ($1)', [names, 'dropped', reason])
  const added = await tx.client.query(
    `insert into musette.webhooks (name, change_id)
     select name, coalesce((select max(change_id) from training.changes), 0) from unnest($1::text[]) name
     on conflict do nothing`,
    [names],
  )
  if (added.rowCount === names.length) await beginAnew(tx)
  return { added: Number(added.rowCount), dropped }
}

/**
 * Drops the waits, digests and faults of removed webhooks, then makes activities without samples wait. Leaves out activities in unread
 * changes, because they would count twice.
 */
async function beginAnew(tx: Tx): Promise<void> {
  for (const table of ['webhook_waiting', 'webhook_digests', 'webhook_conditions'])
    await tx.client.query(`delete from musette.${table}`)
  await tx.client.query(
    `insert into musette.webhook_waiting (account_id, path)
     select account_id, path from training.activities a
     where samples_at is null and absent_since is null and (fetched_at is null or detail_state = 'awaiting_samples')
       and not exists (select from training.changes c
         where c.change_id > (select min(change_id) from musette.webhooks) and c.kind = 'activity.new'
           and c.account_id = a.account_id and c.path = a.path)`,
  )
}

/**
 * Locks the known webhooks until the transaction ends, so that one process at a time makes messages. Returns the number of the change up to
 * which all webhooks have their messages.
 */
export async function lockWebhooks(tx: Tx): Promise<number> {
  const { rows } = await tx.client.query<{ changeId: number }>(
    'select change_id::float8 as "changeId" from musette.webhooks order by name for update',
  )
  return Math.min(...rows.map(({ changeId }) => changeId))
}

export async function recordComposedUpTo(tx: Tx, changeId: number): Promise<void> {
  await tx.client.query('update musette.webhooks set change_id = $1 where change_id < $1', [changeId])
}

/** The state of a webhook, for people. */
type WebhookState = {
  webhook: string
  /** number of undelivered messages, and the time when the oldest began to wait */
  open: number
  open_since: Date | null
  /** number of messages given up within a week */
  given_up: number
  delivered: number
  delivered_at: Date | null
  /** number of open messages that the receiver refuses; later messages are sent without waiting for these */
  refused: number
  /**
   * the last error of the oldest open message or, without open messages, of the last given-up message; with the message's event and title
   */
  last_error: string | null
  last_event: string | null
  last_title: string | null
  /** time when the receiver began to refuse messages */
  gone_at: Date | null
}

export async function findWebhookStates(tx: Tx): Promise<WebhookState[]> {
  const { rows } = await tx.client.query<WebhookState>(
    `select w.name as webhook, w.gone_at,
       count(*) filter (where m.state = 'open')::int as open, min(m.created_at) filter (where m.state = 'open') as open_since,
       count(*) filter (where m.state = 'given_up' and m.ended_at > clock_timestamp() - interval '7 days')::int as given_up,
       count(*) filter (where m.state = 'delivered')::int as delivered,
       max(m.ended_at) filter (where m.state = 'delivered') as delivered_at,
       count(*) filter (where ${isAside('m')})::int as refused, f.last_error, f.event as last_event, f.data ->> 'title' as last_title
     from musette.webhooks w left join musette.webhook_messages m on m.webhook = w.name left join lateral (
       select * from musette.webhook_messages l where l.webhook = w.name and l.last_error is not null
         and (l.state = 'open' or l.ended_at > clock_timestamp() - interval '7 days')
       order by l.state = 'open' desc, l.ended_at desc, l.number limit 1) f on true
     group by w.name, f.last_error, f.event, f.data order by w.name`,
  )
  return rows
}

/** Counts the messages of each known webhook by state, with 0 for states without messages. */
export async function findMessageCounts(tx: Tx) {
  const { rows } = await tx.client.query<{ webhook: string; state: string; count: number }>(
    `select w.name as webhook, s.state, count(m.number)::int as count
     from musette.webhooks w cross join unnest($1::text[]) s(state)
     left join musette.webhook_messages m on m.webhook = w.name and m.state = s.state
     group by w.name, s.state order by w.name, s.state`,
    [webhookMessages.state.enumValues],
  )
  return rows
}
