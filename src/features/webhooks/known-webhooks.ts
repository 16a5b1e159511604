import { webhookMessages } from '../../core/store/schema/index.ts'
import type { Tx } from '../../core/store/store.ts'
import { endMessages } from './outbox.ts'

/** A webhook as the database knows it: messages are made of the changes after `changeId`, none while it is gone. */
export type KnownWebhook = Readonly<{ name: string; changeId: number; isGone: boolean }>

/**
 * Makes the known webhooks equal to those of the file. A new one gets messages about later changes: those with higher numbers, whatever
 * other transaction is open. The open messages of a removed one are dropped. Returns the dropped ones, and the number of new ones.
 */
export async function recordWebhooks(tx: Tx, names: readonly string[]) {
  await tx.client.query('delete from musette.webhooks where name <> all ($1)', [names])
  await tx.client.query('update musette.webhooks set gone_at = null where gone_at is not null')
  const rule = `state = 'open' and webhook <> all ($1)`
  const dropped = await endMessages(tx, rule, [names, 'dropped', 'the webhook is gone from the file'])
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
 * Drops the digests of removed webhooks, and lets activities without samples wait; activities in unread changes are found there, and would
 * count twice.
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

/** Locks the known webhooks until the transaction ends, so that one process at a time makes messages, and finds them. */
export async function lockWebhooks(tx: Tx): Promise<KnownWebhook[]> {
  const { rows } = await tx.client.query<KnownWebhook>(
    `select name, change_id::float8 as "changeId", gone_at is not null as "isGone"
     from musette.webhooks order by name for update`,
  )
  return rows
}

/** Records up to which change messages were made. */
export async function recordComposedUpTo(tx: Tx, changeId: number): Promise<void> {
  await tx.client.query('update musette.webhooks set change_id = $1 where change_id < $1', [changeId])
}

/** The state of a webhook, for people. */
export type WebhookState = {
  webhook: string
  /** messages that are not delivered yet, and since when the oldest waits */
  open: number
  open_since: Date | null
  /** messages that were given up within a week */
  given_up: number
  delivered: number
  delivered_at: Date | null
  /** why the last attempt of the oldest open message failed, or the last one that was given up */
  last_error: string | null
  /** since when the receiver refuses messages */
  gone_at: Date | null
}

/** Finds the state of each known webhook. */
export async function findWebhookStates(tx: Tx): Promise<WebhookState[]> {
  const { rows } = await tx.client.query<WebhookState>(
    `select w.name as webhook, w.gone_at,
       count(*) filter (where m.state = 'open')::int as open, min(m.created_at) filter (where m.state = 'open') as open_since,
       count(*) filter (where m.state = 'given_up' and m.ended_at > clock_timestamp() - interval '7 days')::int as given_up,
       count(*) filter (where m.state = 'delivered')::int as delivered,
       max(m.ended_at) filter (where m.state = 'delivered') as delivered_at,
       (array_agg(m.last_error order by m.state = 'open' desc, m.ended_at desc, m.number)
         filter (where m.last_error is not null and (m.state = 'open' or m.ended_at > clock_timestamp() - interval '7 days')))[1]
         as last_error
     from musette.webhooks w left join musette.webhook_messages m on m.webhook = w.name
     group by w.name order by w.name`,
  )
  return rows
}

export type MessageCount = { webhook: string; state: string; count: number }

/** Counts the messages of each known webhook by state; every state is there, also with 0. */
export async function findMessageCounts(tx: Tx): Promise<MessageCount[]> {
  const { rows } = await tx.client.query<MessageCount>(
    `select w.name as webhook, s.state, count(m.number)::int as count
     from musette.webhooks w cross join unnest($1::text[]) s(state)
     left join musette.webhook_messages m on m.webhook = w.name and m.state = s.state
     group by w.name, s.state order by w.name, s.state`,
    [webhookMessages.state.enumValues],
  )
  return rows
}
