import { ConfigError } from '../../kit/errors.ts'
import type { Answer } from '../../kit/http/send-request.ts'
import { quoteText, toLine } from '../../kit/text.ts'
import { type Context, EXIT } from '../../program/frame/context.ts'
import { defineFeature } from '../../program/frame/define-feature.ts'
import { ASKS, NETWORK } from '../../program/frame/help-of-verbs.ts'
import { defineVerb, flag } from '../../program/frame/verb.ts'
import type { Webhook } from './settings.ts'

const webhookTestVerb = defineVerb({
  group: { name: 'webhook', description: 'test the receivers that MUSETTE_WEBHOOKS names' },
  name: 'test [name]',
  description: 'send a test message to one webhook or to all, and print the response',
  options: { json: flag('--json', 'as one JSON array') },
  help: {
    settings: ['MUSETTE_WEBHOOKS', ...NETWORK],
    exits: [...ASKS, 'partial'],
    examples: ['musette webhook test phone'],
  },
  needs: 'nothing',
  async run({ config, signal, print, printJson }, { name, json }) {
    const chosen = await chooseWebhooks({ config }, name)
    const { makeReceivers } = await import('../../kit/http/send-request.ts')
    const { sendTestMessage } = await import('./message-request.ts')
    const dispatcher = makeReceivers(config.proxies)
    const answers = await Promise.all(
      chosen.map(async (webhook) => ({
        webhook: webhook.name,
        ...(await sendTestMessage(webhook, { signal, dispatcher })),
      })),
    ).finally(() => dispatcher.destroy())
    if (json)
      printJson(
        answers.map(({ webhook, status, failure, ms, beginning }) => ({
          webhook,
          delivered: failure === undefined,
          status: status ?? null,
          error: failure ?? null,
          ms,
          answer: beginning,
        })),
      )
    else for (const { webhook, ...answer } of answers) print(lineOf(webhook, answer))
    const codes = new Set(answers.map(codeOf))
    const [code = EXIT.done] = codes
    return codes.size === 1 ? code : EXIT.partial
  },
})

async function chooseWebhooks(
  { config }: Pick<Context, 'config'>,
  name: string | undefined,
): Promise<readonly Webhook[]> {
  const { webhooksSettings } = await import('./settings.ts')
  const file = webhooksSettings.of(config)
  if (!file)
    throw new ConfigError('no_webhooks', 'MUSETTE_WEBHOOKS is not set; docs/recipes.md shows a first file')
  const { webhooks } = file
  const chosen = name === undefined ? webhooks : webhooks.filter((webhook) => webhook.name === name)
  if (chosen.length > 0) return chosen
  const names = webhooks.map((webhook) => webhook.name).join(', ')
  throw new ConfigError(
    'no_webhook',
    names === ''
      ? 'the file of MUSETTE_WEBHOOKS has no webhook'
      : `there is no webhook "${name}"; the file has: ${names}`,
  )
}

function lineOf(webhook: string, { status, failure, ms, beginning }: Answer): string {
  const verdict = failure === undefined ? `delivered, HTTP ${status}` : `not delivered, ${failure}`
  const answer = toLine(beginning) === '' ? '' : `; the answer is ${quoteText(beginning, 200)}`
  return `${webhook}: ${verdict}, after ${ms} ms${answer}`
}

function codeOf({ status, failure }: Answer): number {
  if (failure === undefined) return EXIT.done
  if (status === 401 || status === 403) return EXIT.noLogin
  return status === undefined || status === 429 || status >= 500 ? EXIT.unreachable : EXIT.unexpected
}

export const webhooks = defineFeature({
  name: 'webhooks',
  verbs: { after: 'key rotate', all: [webhookTestVerb] },
  settingsOf: { start: ['MUSETTE_WEBHOOKS'] },
  settings: async () => (await import('./settings.ts')).webhooksSettings,
  state: async () => (await import('./state.ts')).webhooksState,
  gauges: async () => (await import('./state.ts')).webhookGauges,
  async openInWorker({ app, startedAt }) {
    const { webhooksSettings } = await import('./settings.ts')
    const file = webhooksSettings.of(app.config)
    if (!file || file.faults) return undefined
    const { findConditions, openWebhooks } = await import('./open-webhooks.ts')
    const conditions = () => findConditions(app, { startedAt, now: new Date() })
    return openWebhooks({ ...app, conditions }, { file, proxies: app.config.proxies })
  },
})
