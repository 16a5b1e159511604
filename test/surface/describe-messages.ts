import { FEATURES } from '../../src/features/index.ts'
import { makeMetrics } from '../../src/features/metrics/metrics.ts'
import { loadGauges } from '../../src/features/metrics/routes.ts'
import {
  BIRTH_TOPIC,
  EVENT_KINDS,
  makeDiscovery,
  POLL_TOPICS,
  topicsOf,
} from '../../src/features/mqtt/entities.ts'
import { type Message, makeRequest } from '../../src/features/webhooks/message-request.ts'
import type { ReadyActivity } from '../../src/features/webhooks/news.ts'
import {
  formatActivity,
  formatBreakthrough,
  formatCondition,
  formatDigest,
  formatLoginLost,
  formatRefused,
  formatRestored,
} from '../../src/features/webhooks/texts.ts'
import { VERSION } from '../../src/kit/program-folder.ts'
import { makeWebhook } from '../features/webhooks/receiver.ts'

const AT = new Date('2026-05-03T10:00:00Z')

const ACTIVITY: ReadyActivity = {
  ...{
    account_id: 1,
    account: 'default',
    activity_id: 7,
    path: 'p1',
    name: 'Ride',
    activity_type: 'Cycling',
  },
  ...{ started_at: new Date('2026-05-03T08:00:00Z'), elapsed_s: 5_400, duration: 5_400, distance: 40.5 },
  ...{ xss: 80, xlss: 60, xhss: 15, xpss: 5, sig_ftp: 255, sig_atc: 21, sig_pp: 910 },
  ...{ prev_sig_ftp: 250, prev_sig_atc: 20, prev_sig_pp: 900, medal: 1, breakthrough: 1 },
  ...{ ready_at: AT, seen_together: 1 },
}

/** Describes the body of each message of the webhooks, in both styles. */
export function describeWebhooks(): string {
  const sentence = 'No poll of the service succeeded for 3 h'
  const account = { accountId: 2, name: 'second' }
  const digest = { account_id: 1, account: 'default', count: 40, began_at: AT, last_at: AT }
  const scores = { activities: 40, xss_change: 12.6, ftp_before: 250, ftp_after: 255 }
  const days = { first_day: '2026-01-01', last_day: '2026-05-03' }
  const file = { files: 1, file_name: 'a.fit', content_id: '01ab', reason: 'no record in it' }
  const restored = {
    ...{ up_to: 41, cause: 'backup', backup_made_at: '2026-05-01T00:00:00Z' },
    ...{ identity: 'an id', line: 'a line' },
  }
  const mirror = { kind: 'mirror', account, state: 'unknown', sentence, run: 'musette sync' } as const
  const backup = { kind: 'backup', account: null, state: 'unknown', sentence, run: 'musette sync' } as const
  const contents = [
    formatActivity(ACTIVITY),
    formatBreakthrough(ACTIVITY),
    formatDigest({ ...digest, event: 'history.mirrored' }, undefined),
    formatDigest({ ...digest, event: 'history.recalculated' }, { ...scores, ...days }),
    formatRefused('default', AT, file),
    formatDigest({ ...digest, event: 'upload.refused' }, undefined),
    formatLoginLost('default', AT, 'the password was changed'),
    formatCondition(mirror, 'wrong', AT),
    formatCondition(mirror, 'well', AT),
    formatRestored(AT, restored),
    formatCondition(backup, 'wrong', AT),
    formatCondition(backup, 'well', AT),
  ]
  return contents.flatMap((content) => (content ? bodiesOf({ id: 'msg_1', ...content }) : [])).join('\n')
}

function bodiesOf(message: Message): string[] {
  const standard = makeWebhook('https://example.com/hook')
  const ntfy = makeWebhook('https://ntfy.example.com/topic', { style: 'ntfy' })
  return [standard, ntfy].map((webhook) => {
    const { headers, body } = makeRequest(webhook, message, AT)
    return `${message.event}, ${webhook.style}: ${Object.keys(headers).join(', ')}\n${body}\n`
  })
}

export function describeMqtt(): string {
  const publisherId = '0b8e2f6c-1111-4222-8333-444455556666'
  const account = { accountId: 3, name: 'default' }
  const topics = { birth: BIRTH_TOPIC, polls: POLL_TOPICS, ...topicsOf(publisherId, account.accountId) }
  const discovery = makeDiscovery(account, { publisherId, commands: true })
  return [
    ...Object.entries(topics).map(([name, topic]) => `${name}: ${topic}`),
    `kinds of change as events: ${EVENT_KINDS.join(', ')}`,
    `discovery: ${JSON.stringify({ ...discovery, components: {} }).replaceAll(VERSION, '1.2.3')}`,
    ...Object.entries(discovery.components).map(
      ([name, component]) => `  ${name}: ${JSON.stringify(component)}`,
    ),
  ].join('\n')
}

/** Metrics that Node's process has on some systems only. */
const OF_SOME_SYSTEMS = /^musette_process_(virtual_memory_bytes|heap_bytes|open_fds|max_fds)$/

/** Describes each metric by its name, type and labels. */
export async function describeMetrics(): Promise<string> {
  const gauges = await loadGauges(FEATURES)
  const metrics = makeMetrics({ now: () => AT }, { version: '1.2.3', gauges })
  metrics.requests.onAnswer({
    origin: 'http://service.test',
    endpoint: 'GET /oauth/training_info',
    status: 200,
    failure: undefined,
    ms: 5,
  })
  metrics.requests.onPause(5)
  metrics.onRun({ resource: 'activities', kind: 'poll', outcome: 'done', seconds: 1 })
  const database = gauges.flatMap(({ helps }) =>
    Object.entries(helps).map(([labels, names]) => ({
      labels: Object.fromEntries(labels.split(' ').flatMap((label) => (label ? [[label, 'some']] : []))),
      values: Object.fromEntries(Object.keys(names).map((name) => [name, 1])),
    })),
  )
  const page = await metrics.render({ database, queue: { jobs: { polls: { waiting: 1 } }, paused: [] } })
  const types = [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].filter(
    ([, name = '']) => !OF_SOME_SYSTEMS.test(name),
  )
  return types
    .map(([, name, type]) => {
      const [, labels = ''] = new RegExp(`^${name}(?:_bucket)?\\{(.*)\\} \\S+$`, 'm').exec(page) ?? []
      return `${name} ${type} {${[...labels.matchAll(/(\w+)="/g)].map(([, label]) => label).join(', ')}}`
    })
    .toSorted()
    .join('\n')
}
