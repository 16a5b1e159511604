import { quoteShell } from '../kit/text.ts'
import { formatAge, formatDuration, HOUR } from '../kit/time.ts'
import { findWebhookStates, type WebhookState } from '../store/webhooks/known-webhooks.ts'
import type { MirrorContext } from './doctor-context.ts'
import { type Finding, leftOut, ok, problem, warning } from './finding.ts'

/** A message that waits for longer is late: by then a receiver that was restarted has been tried again. */
const LATE_MS = 1 * HOUR

/** Checks that others cannot read the file of the webhooks, and that their messages are delivered. */
export async function checkWebhooks({ config, mirror }: MirrorContext): Promise<Finding[]> {
  if (!config.webhooks) return [ok('MUSETTE_WEBHOOKS is not set: no messages are sent')]
  const { path, isReadableByOthers, webhooks } = config.webhooks
  const readable = isReadableByOthers
    ? [warning(`others may read ${path}, which holds secrets`, `chmod 600 ${quoteShell(path)}`)]
    : []
  const database = await mirror()
  if ('reason' in database) return [...readable, leftOut(database.reason)]
  const states = await database.store.read(findWebhookStates)
  const stateOf = (name: string) => states.find(({ webhook }) => webhook === name)
  const found = webhooks.map(({ name }) => findingOf(name, stateOf(name)))
  return [...readable, ...(found.length > 0 ? found : [ok(`${path} names no webhook`)])]
}

function findingOf(name: string, state: WebhookState | undefined): Finding {
  if (!state) return warning(`"${name}": a daemon that runs begins to send messages`, 'musette start')
  const { open, open_since, given_up, last_error, gone_at, delivered_at } = state
  const test = `musette webhook test ${name}`
  const why = last_error === null ? '' : ` (${last_error})`
  if (gone_at)
    return problem('unexpected', `"${name}": the receiver answered 410 Gone and gets no more messages`, test)
  if (given_up > 0)
    return problem('unexpected', `"${name}": ${given_up} messages were given up in the last week${why}`, test)
  const waitedMs = open_since ? Date.now() - open_since.getTime() : 0
  if (waitedMs > LATE_MS)
    return warning(`"${name}": ${open} messages wait for up to ${formatDuration(waitedMs)}${why}`, test)
  const last = delivered_at ? `last message delivered ${formatAge(delivered_at)} ago` : 'no message yet'
  return ok(`"${name}": ${last}`)
}
