import { defineGauges } from '../../program/frame/gauges.ts'
import { findMessageCounts } from './known-webhooks.ts'

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
