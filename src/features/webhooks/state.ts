import { countOf, quoteShell, quoteText } from '../../kit/text.ts'
import { formatAge, HOUR } from '../../kit/time.ts'
import { DATABASE_VARIABLES, type Facts, type FeatureState } from '../../program/frame/findings/facts.ts'
import {
  type Finding,
  makeFinding,
  makeRules,
  ok,
  type Rule,
  warning,
} from '../../program/frame/findings/finding.ts'
import { defineGauges } from '../../program/frame/gauges.ts'
import { findMessageCounts, findWebhookStates } from './outbox.ts'
import { webhooksSettings } from './settings.ts'

const RULES = makeRules({
  webhooks_wrong: ['configuration', 'doctor status page heartbeat', 'musette config'],
  webhook_new: ['warning', 'doctor status', 'musette start'],
  webhook_gone: ['unexpected', 'doctor status page', 'musette webhook test NAME'],
  messages_given_up: ['unexpected', 'doctor status page', 'musette webhook test NAME'],
  messages_late: ['warning', 'doctor status', 'musette webhook test NAME'],
})

export const webhooksState: FeatureState = {
  check: 'webhooks',
  variables: [...DATABASE_VARIABLES, 'MUSETTE_WEBHOOKS'],
  rules: RULES,
  judge: judgeWebhooks,
  /** Checks that only the owner can read the file of the webhooks, and that messages are delivered. */
  async diagnose({ config, listed }) {
    const file = webhooksSettings.of(config)
    if (!file) return [ok('MUSETTE_WEBHOOKS is not set: no messages are sent')]
    const { path } = file
    const readable = warning(`others may read ${path}, which holds secrets`, `chmod 600 ${quoteShell(path)}`)
    const found = await listed()
    return [
      ...(file.isReadableByOthers ? [readable] : []),
      ...(found.length > 0 ? found : [ok(`${path} names no webhook`)]),
    ]
  },
  status: { name: 'webhooks', find: (facts) => facts.once(findStates) },
}

/** Finds the known webhooks with their states; none if MUSETTE_WEBHOOKS is not set. */
async function findStates({ config, read }: Facts) {
  return webhooksSettings.of(config) ? read(findWebhookStates) : []
}

/** Age after which a waiting message counts as late; by then a restarted receiver has got another attempt. */
const MESSAGE_LATE_MS = 1 * HOUR

async function judgeWebhooks(facts: Facts): Promise<Finding[]> {
  const { config, now } = facts
  const { faults, webhooks = [] } = webhooksSettings.of(config) ?? {}
  if (faults)
    return [makeFinding(RULES.webhooks_wrong, `no messages are sent: MUSETTE_WEBHOOKS ${faults[0]}`)]
  const states = await facts.once(findStates)
  return webhooks.map(({ name }) => {
    const state = states.find(({ webhook }) => webhook === name)
    const of = (rule: Rule, found: string, since?: Date) =>
      makeFinding(rule, `webhook "${name}": ${found}`, { since, NAME: name })
    if (!state) return of(RULES.webhook_new, 'a running daemon starts to send messages')
    const { open, open_since: since, given_up: givenUp, gone_at: goneAt, delivered_at: at } = state
    const title = state.last_title === null ? '' : ` ${quoteText(state.last_title)}`
    const why = state.last_error === null ? '' : ` (${state.last_event}${title}: ${state.last_error})`
    if (goneAt)
      return of(RULES.webhook_gone, 'the receiver answered 410 Gone and gets no more messages', goneAt)
    if (givenUp > 0) {
      const messages = countOf(givenUp, 'message was', 'messages were')
      return of(RULES.messages_given_up, `${messages} given up in the last week${why}`)
    }
    if (since && (state.refused > 0 || now.getTime() - since.getTime() > MESSAGE_LATE_MS)) {
      const messages = countOf(open, 'message waits', 'messages wait')
      return of(RULES.messages_late, `${messages} for up to ${formatAge(since, now)}${why}`, since)
    }
    return ok(
      `webhook "${name}": ${at ? `last message delivered ${formatAge(at, now)} ago` : 'no message yet'}`,
    )
  })
}

export const webhookGauges = defineGauges({
  helps: {
    'webhook state': {
      musette_webhook_messages:
        'Messages of the webhooks by state: open, delivered and dropped of the last week, given_up of the last 90 days.',
    },
  },
  async read({ read }) {
    const counts = await read(findMessageCounts)
    return counts.map(({ count, ...labels }) => ({ labels, values: { musette_webhook_messages: count } }))
  },
})
