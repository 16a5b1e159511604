import type { Logger } from 'pino'
import { findAccounts } from '../../core/store/account-rows.ts'
import type { Store } from '../../core/store/store.ts'
import { errorLine } from '../../kit/errors.ts'
import { type Answer, makeReceivers, type SendOptions } from '../../kit/http/send-request.ts'
import type { Proxies } from '../../kit/http-agent.ts'
import { type LogOnce, makeLogOnce } from '../../kit/log-once.ts'
import { quoteShell } from '../../kit/text.ts'
import { type Backoff, backoffMs, HOUR, MINUTE, SECOND, sleep } from '../../kit/time.ts'
import { collectFindings } from '../../program/frame/findings/collect-findings.ts'
import { type FactsApp, makeFacts } from '../../program/frame/findings/facts.ts'
import { isSaid } from '../../program/frame/findings/finding.ts'
import { composeConditions, composeMessages, MESSAGE_TTL_MS } from './compose.ts'
import { sendMessage } from './message-request.ts'
import {
  type ClaimedMessage,
  claimMessage,
  deleteOldMessages,
  findDueWebhooks,
  recordDelivered,
  recordGone,
  recordMessagesExpired,
  recordNotDelivered,
  recordWebhooks,
} from './outbox.ts'
import type { Webhook, WebhooksFile } from './settings.ts'
import type { Condition } from './texts.ts'

/** The intervals; tests shorten them. */
export type WebhookPauses = Readonly<typeof PAUSES>

export const PAUSES = {
  /** How often the database is read for events and due messages. Reads are cheap, and most of a message's delay is this interval. */
  lookEveryMs: SECOND,
  /** How often faults are checked; they become messages only after hours. */
  conditionsEveryMs: 30 * SECOND,
  /** Time without an addition after which a digest is sent; the files of one import arrive faster. */
  restMs: 2 * MINUTE,
  /** The first pause is 2 to 5 s, the longest 90 min to 3 h: a receiver that was down overnight gets its messages in the morning. */
  backoff: { firstMs: 5 * SECOND, maxMs: 3 * HOUR, factor: 4 },
}

/**
 * Opens the delivery of messages to the webhooks of a file. Every second the delivery reads the events, makes messages and sends them,
 * separately for each webhook, so that a slow receiver does not delay the others. Several processes may use the same file. `close` waits
 * for the database, not for the receivers. Throws the errors of the database.
 */
export async function openWebhooks(
  deps: { store: Store; log: Logger; conditions: () => Promise<readonly Condition[]> },
  input: { file: WebhooksFile; proxies?: Proxies | undefined; pauses?: WebhookPauses },
): Promise<{ close(): Promise<void> }> {
  const { store, log } = deps
  const { proxies, pauses = PAUSES } = input
  const { path, webhooks, isReadableByOthers } = input.file
  if (isReadableByOthers)
    log.warn({ path }, `webhooks: others may read their secrets; run: chmod 600 ${quoteShell(path)}`)
  const names = webhooks.map(({ name }) => name)
  const { added, dropped } = await store.transaction((tx) => recordWebhooks(tx, names))
  for (const { webhook, count } of dropped)
    log.warn({ webhook, count }, 'webhooks: removed from the file; its undelivered messages are dropped')
  log.info({ webhooks: names, added }, 'webhooks: sending messages')

  const stop = new AbortController()
  const problems = makeLogOnce(log)
  const dispatcher = makeReceivers(proxies)
  const deliverDeps = { store, log, problems, dispatcher }
  const sending = new Map<string, Promise<void>>()
  const tried = async (what: string, work: () => Promise<void>) => {
    try {
      await work()
      problems.over(what)
    } catch (error) {
      if (!stop.signal.aborted) problems.say('warn', what, `webhooks: ${what}: ${errorLine(error)}`)
    }
  }
  const send = async () => {
    const due = await store.read(findDueWebhooks)
    for (const webhook of webhooks.filter(({ name }) => due.includes(name) && !sending.has(name))) {
      const { backoff } = pauses
      const work = () => deliverDue(deliverDeps, { webhook, backoff, signal: stop.signal })
      const done = tried(`messages of ${webhook.name}`, work).finally(() => sending.delete(webhook.name))
      sending.set(webhook.name, done)
    }
  }
  const look = async () => {
    const { restMs } = pauses
    while ((await composeMessages({ store }, { webhooks, restMs })) && !stop.signal.aborted);
    await send()
  }
  const lookAtConditions = async () =>
    composeConditions({ store }, { webhooks, conditions: await deps.conditions() })
  const loops = [
    repeat(pauses.lookEveryMs, stop.signal, () => tried('news', look)),
    repeat(pauses.conditionsEveryMs, stop.signal, () => tried('conditions', lookAtConditions)),
    repeat(HOUR, stop.signal, () => tried('old messages', () => endOldMessages({ store, log }))),
  ]
  return {
    async close() {
      stop.abort()
      await Promise.all(loops)
      await Promise.all(sending.values())
      await dispatcher.destroy()
    },
  }
}

async function endOldMessages({ store, log }: { store: Store; log: Logger }): Promise<void> {
  const expired = await store.transaction(async (tx) => {
    await deleteOldMessages(tx)
    return recordMessagesExpired(tx, { giveUpMs: MESSAGE_TTL_MS })
  })
  for (const { webhook, count } of expired)
    log.error({ webhook, count }, 'webhooks: messages given up after three days; run: musette webhook test')
}

/** Repeats work with a pause in between until the signal aborts. */
async function repeat(everyMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await work()
    await sleep(everyMs, signal).catch(() => undefined)
  }
}

type WebhookDeps = Readonly<{
  store: Store
  log: Logger
  problems: LogOnce
  dispatcher: SendOptions['dispatcher']
}>

/** Lease of a message, ms, longer than an attempt: if the sending process is killed, another process sends the message after this time. */
const LEASE_MS = 20 * SECOND
/** The status by which a receiver refuses all further messages. */
const GONE = 410

/**
 * Sends the due messages of a webhook in order, each at least once: if the process is killed before it records the response, the message is
 * sent again with the same id. Throws the errors of the database and the reason of the signal.
 */
async function deliverDue(
  deps: WebhookDeps,
  { webhook, backoff, signal }: { webhook: Webhook; backoff: Backoff; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    const message = await deps.store.transaction((tx) =>
      claimMessage(tx, { webhook: webhook.name, leaseMs: LEASE_MS }),
    )
    if (!message) return
    const answer = await sendMessage(webhook, message, { signal, dispatcher: deps.dispatcher })
    await recordAnswer(deps, { webhook: webhook.name, message, answer, backoff })
  }
}

async function recordAnswer(
  { store, log, problems }: WebhookDeps,
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
      'webhooks: the receiver answered 410 Gone and gets no more messages until the daemon restarts; run: musette webhook test',
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
    problems.say('warn', `webhook ${webhook}`, `webhooks: not delivered, ${failure}; musette retries later`, {
      webhook,
    })
}

/**
 * Returns the state of each account's mirror and of the backups, from the findings that cause messages. The state is unknown if there is no
 * finding, as for an account that needs a login, or if a finding may soon clear.
 */
export async function findConditions(
  app: FactsApp,
  input: { startedAt: Date; now: Date },
): Promise<Condition[]> {
  const accounts = await app.store.read(findAccounts)
  const findings = await collectFindings(makeFacts(app, input.now), { place: 'message' })
  const subjects = [
    ...accounts.map((account) => ({ kind: 'mirror', check: 'mirror', account }) as const),
    { kind: 'backup', check: 'backups', account: null } as const,
  ]
  return subjects.map(({ kind, check, account }) => {
    const own = findings.filter((each) => each.check === check && each.account === account?.name)
    const wrong = own.find((finding) => isSaid(finding, input))
    const state = wrong ? 'wrong' : own.some((finding) => finding.state === 'ok') ? 'well' : 'unknown'
    return { kind, account, state, sentence: wrong?.found ?? '', run: wrong?.run }
  })
}
