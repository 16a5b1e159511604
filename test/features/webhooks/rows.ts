import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FeatureRows } from '../../kit/feature-rows.ts'

const message = (column: string, value: string) =>
  `insert into musette.webhook_messages (webhook, event, occurred_at, data, last_error, ${column})
   values ('home', 'test', now(), '{}', 'HTTP 500', ${value})`

export const ROWS: FeatureRows = {
  others: ['webhook test'],
  elsewhere: ['webhooks_wrong'],
  commands: {
    'musette webhook': [
      'test/program/doctor/typed.test.ts',
      'tries the receiver of messages that were given up',
    ],
  },
  async env(folder) {
    const file = join(folder, 'webhooks.json')
    const secret = `whsec_${Buffer.alloc(24).toString('base64')}`
    const webhook = { name: 'home', style: 'standard', url: 'http://127.0.0.1:9', secret }
    await writeFile(file, JSON.stringify([webhook]))
    return { MUSETTE_WEBHOOKS: file }
  },
  well: [
    'delete from musette.webhook_messages',
    'delete from musette.webhooks',
    `insert into musette.webhooks (name, change_id) values ('home', 0)`,
  ],
  situations: () => `
webhook_new | delete from musette.webhooks | a running daemon starts to send | musette start
webhook_gone | update musette.webhooks set gone_at = now() | 410 Gone | musette webhook test home
messages_given_up | ${message('state, ended_at', `'given_up', now()`)} | webhook "home": 1 message was given up in the last week (test: HTTP 500) | musette webhook test home
messages_late | ${message('created_at', `now() - interval '2 hours'`)} | webhook "home": 1 message waits for up to 2 h (test: HTTP 500) | musette webhook test home
messages_late | ${message('attempts', '4')} | webhook "home": 1 message waits for up to | musette webhook test home`,
}
