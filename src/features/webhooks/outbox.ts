import type { Json } from '../../core/store/schema/schemas.ts'
import type { Tx } from '../../core/store/store.ts'

/** A message to be sent; `data` must be clean, see cleanJson. */
export type NewMessage = Readonly<{
  webhook: string
  accountId: number | null
  event: string
  occurredAt: Date
  data: { readonly [key: string]: Json }
}>

/** Records messages to be sent, in this order. */
export async function recordMessages(tx: Tx, messages: readonly NewMessage[]): Promise<void> {
  if (messages.length === 0) return
  await tx.client.query(
    `insert into musette.webhook_messages (webhook, account_id, event, occurred_at, data)
     select webhook, account_id, event, occurred_at, data
     from rows from (jsonb_to_recordset($1::jsonb) as
       (webhook text, account_id integer, event text, occurred_at timestamptz, data jsonb)) with ordinality
     order by ordinality`,
    [
      JSON.stringify(
        messages.map(({ accountId, occurredAt, ...message }) => ({
          ...message,
          account_id: accountId,
          occurred_at: occurredAt,
        })),
      ),
    ],
  )
}

// A message is due when its time has come and none before it of the same webhook and account is open.
const DUE = `m.state = 'open' and m.next_try_at <= clock_timestamp() and not exists (
  select from musette.webhook_messages e
  where e.state = 'open' and e.webhook = m.webhook and e.account_id is not distinct from m.account_id and e.number < m.number)`

/** Finds the webhooks that have a message which is due. */
export async function findDueWebhooks(tx: Tx): Promise<string[]> {
  const { rows } = await tx.client.query<{ webhook: string }>(
    `select distinct m.webhook from musette.webhook_messages m where ${DUE}`,
  )
  return rows.map(({ webhook }) => webhook)
}

export type ClaimedMessage = Readonly<{
  number: number
  id: string
  event: string
  occurredAt: Date
  data: { readonly [key: string]: Json }
  attempts: number
}>

/**
 * Claims the message of a webhook that has been due for the longest time: no other process sends it within `leaseMs`. Undefined
 * when none is due. The claim is a time in the row and no lock, so that nothing is held during the request.
 */
export async function claimMessage(tx: Tx, { webhook, leaseMs }: { webhook: string; leaseMs: number }) {
  const { rows } = await tx.client.query<ClaimedMessage>(
    `update musette.webhook_messages set attempts = attempts + 1,
       next_try_at = clock_timestamp() + $2 * interval '1 ms'
     where state = 'open' and next_try_at <= clock_timestamp() and number = (
       select m.number from musette.webhook_messages m where m.webhook = $1 and ${DUE}
       order by m.next_try_at, m.number limit 1)
     returning number::float8 as number, message_id as id, event, occurred_at as "occurredAt", data, attempts`,
    [webhook, leaseMs],
  )
  return rows[0]
}

/** Records that a message was delivered. */
export async function recordDelivered(tx: Tx, number: number): Promise<void> {
  await tx.client.query(
    `update musette.webhook_messages set state = 'delivered', ended_at = clock_timestamp(), last_error = null
     where number = $1 and state = 'open'`,
    [number],
  )
}

/**
 * Records why an attempt failed and the pause before the next one. A message that would then be older than `giveUpMs` is given
 * up. Returns its state.
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

/** Gives up the open messages that are older than `giveUpMs`, and returns how many for each webhook. */
export async function recordMessagesExpired(tx: Tx, { giveUpMs }: { giveUpMs: number }) {
  return endMessages(tx, `state = 'open' and created_at < clock_timestamp() - $1 * interval '1 ms'`, [
    giveUpMs,
    'given_up',
    'it waited for an earlier message',
  ])
}

/** Records that the receiver refuses further messages, and gives up the open ones. Returns their number. */
export async function recordGone(tx: Tx, webhook: string): Promise<number> {
  await tx.client.query('update musette.webhooks set gone_at = clock_timestamp() where name = $1', [webhook])
  const rule = `state = 'open' and webhook = $1`
  const [ended] = await endMessages(tx, rule, [
    webhook,
    'given_up',
    'HTTP 410: the receiver wants no more messages',
  ])
  return ended?.count ?? 0
}

/** Ends the messages for which a rule about the first value holds: the second value is the new state, the third is the reason. */
export async function endMessages(
  tx: Tx,
  rule: string,
  values: readonly [unknown, 'given_up' | 'dropped', string],
): Promise<Array<{ webhook: string; count: number }>> {
  const { rows } = await tx.client.query<{ webhook: string; count: number }>(
    `with ended as (
       update musette.webhook_messages set state = $2, ended_at = clock_timestamp(), last_error = coalesce(last_error, $3)
       where ${rule} returning webhook)
     select webhook, count(*)::int as count from ended group by webhook order by webhook`,
    [...values],
  )
  return rows
}

/** Deletes messages that ended long ago: those that were given up after 90 days, the others after a week. */
export async function deleteOldMessages(tx: Tx): Promise<void> {
  await tx.client.query(
    `delete from musette.webhook_messages where ended_at < clock_timestamp() - interval '7 days'
     and (state <> 'given_up' or ended_at < clock_timestamp() - interval '90 days')`,
  )
}
