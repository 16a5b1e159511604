import type { Logger } from 'pino'
import type { Store } from '../../core/store/store.ts'
import type { Answer, SendOptions } from '../../kit/http/send-request.ts'
import type { LogOnce } from '../../kit/log-once.ts'
import { type Backoff, backoffMs, HOUR, SECOND } from '../../kit/time.ts'
import { MESSAGE_TTL_MS } from './compose.ts'
import type { MessageData } from './message-request.ts'
import {
  type ClaimedMessage,
  claimMessage,
  recordDelivered,
  recordGone,
  recordNotDelivered,
} from './outbox.ts'
import { sendMessage } from './send.ts'
import type { Webhook, WebhookEvent } from './settings.ts'

type WebhookDeps = Readonly<{
  store: Store
  log: Logger
  problems: LogOnce
  dispatcher: SendOptions['dispatcher']
}>

/** The first pause is 2 to 5 s, the longest 90 min to 3 h: a receiver that was down overnight gets its messages in the morning. */
export const BACKOFF: Backoff = { firstMs: 5 * SECOND, maxMs: 3 * HOUR, factor: 4 }
/** Longer than an attempt: if its process is killed, another process sends the message after this time. */
const LEASE_MS = 20 * SECOND
/** With this status a receiver refuses all further messages. */
const GONE = 410

/**
 * Sends the due messages of a webhook one after the other, each at least once: after a kill between the answer and its record, the message
 * is sent again with the same id. Throws the errors of the database and the reason of the signal.
 */
export async function deliverDue(
  deps: WebhookDeps,
  { webhook, backoff, signal }: { webhook: Webhook; backoff: Backoff; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    const message = await deps.store.transaction((tx) =>
      claimMessage(tx, { webhook: webhook.name, leaseMs: LEASE_MS }),
    )
    if (!message) return
    const { id, event, occurredAt: at, data } = message
    const sent = { id, event: event as WebhookEvent, at, data: data as MessageData }
    const answer = await sendMessage(webhook, sent, { signal, dispatcher: deps.dispatcher })
    await recordAnswer(deps, { webhook: webhook.name, message, answer, backoff })
  }
}

async function recordAnswer(
  { store, log, problems }: Omit<WebhookDeps, 'dispatcher'>,
  input: { webhook: string; message: ClaimedMessage; answer: Answer; backoff: Backoff },
): Promise<void> {
  const { webhook, message, answer } = input
  const { failure } = answer
  const facts = { webhook, event: message.event, id: message.id, attempts: message.attempts }
  if (failure === undefined) {
    await store.transaction((tx) => recordDelivered(tx, message.number))
    problems.over(`webhook ${webhook}`)
    log.info({ ...facts, ms: answer.ms }, 'webhooks: message delivered')
    return
  }
  if (answer.status === GONE) {
    const open = await store.transaction((tx) => recordGone(tx, webhook))
    log.error(
      { webhook, open },
      'webhooks: the receiver answered 410 Gone and gets no more messages until the daemon starts again; run: musette webhook test',
    )
    return
  }
  const pauseMs = Math.max(backoffMs(input.backoff, message.attempts), answer.retryAfterMs ?? 0)
  const { number } = message
  const state = await store.transaction((tx) =>
    recordNotDelivered(tx, { number, error: failure, pauseMs, giveUpMs: MESSAGE_TTL_MS }),
  )
  if (state === 'given_up')
    log.error({ ...facts, failure }, 'webhooks: message given up; run: musette webhook test')
  else
    problems.say('warn', `webhook ${webhook}`, `webhooks: not delivered, ${failure}; tried again later`, {
      webhook,
    })
}
