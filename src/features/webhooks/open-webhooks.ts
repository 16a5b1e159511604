import type { Logger } from 'pino'
import type { Store } from '../../core/store/store.ts'
import { errorLine } from '../../kit/errors.ts'
import { makeReceivers } from '../../kit/http/send-request.ts'
import type { Proxies } from '../../kit/http-agent.ts'
import { makeLogOnce } from '../../kit/log-once.ts'
import { quoteShell } from '../../kit/text.ts'
import { HOUR, MINUTE, SECOND, sleep } from '../../kit/time.ts'
import { composeConditions, composeMessages, MESSAGE_TTL_MS } from './compose.ts'
import { BACKOFF, deliverDue } from './deliver.ts'
import { recordWebhooks } from './known-webhooks.ts'
import { deleteOldMessages, findDueWebhooks, recordMessagesExpired } from './outbox.ts'
import type { WebhooksFile } from './settings.ts'
import type { Condition } from './texts.ts'

/** The pauses; tests make them shorter. */
export type WebhookPauses = Readonly<typeof PAUSES>

export const PAUSES = {
  /** How often the database is read for events and due messages: cheap, and most of the delay of a message. */
  lookEveryMs: 1 * SECOND,
  /** How often faults are checked, which count only after hours. */
  conditionsEveryMs: 30 * SECOND,
  /** A digest is sent after this time without an addition: the files of one import come faster. */
  restMs: 2 * MINUTE,
  backoff: BACKOFF,
}

/**
 * Opens the delivery of messages to the webhooks of a file: every second it reads the events, makes messages and sends them, separately for
 * each webhook, so that a slow receiver does not delay others. Several processes may use the same file. `close` waits for the database, not
 * for the receivers. Throws the errors of the database.
 */
export async function openWebhooks(
  deps: { store: Store; log: Logger; conditions: () => Promise<readonly Condition[]> },
  {
    file,
    proxies,
    pauses = PAUSES,
  }: { file: WebhooksFile; proxies?: Proxies | undefined; pauses?: WebhookPauses },
): Promise<{ close(): Promise<void> }> {
  const { store, log } = deps
  const { path, webhooks } = file
  if (file.isReadableByOthers)
    log.warn({ path }, `webhooks: others may read their secrets; run: chmod 600 ${quoteShell(path)}`)
  const names = webhooks.map(({ name }) => name)
  const { added, dropped } = await store.transaction((tx) => recordWebhooks(tx, names))
  for (const { webhook, count } of dropped)
    log.warn(
      { webhook, count },
      'webhooks: gone from the file; its messages that were not delivered are dropped',
    )
  log.info({ webhooks: names, added }, 'webhooks: messages are sent')

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

/** Repeats work, with a pause between, until the signal aborts. */
async function repeat(everyMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await work()
    await sleep(everyMs, signal).catch(() => undefined)
  }
}
