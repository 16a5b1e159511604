import { createHmac, randomUUID } from 'node:crypto'
import type { Json } from '../../core/store/schema/schemas.ts'
import { type Answer, type SendOptions, sendRequest } from '../../kit/http/send-request.ts'
import { SECOND } from '../../kit/time.ts'
import type { Webhook, WebhookEvent } from './settings.ts'

/** The content of a message: `title` and `text` for a person, the other members for programs. */
export type MessageData = Readonly<{ title: string; text: string; [member: string]: Json }>

/** A message to one webhook; `id` is the same in every attempt. */
export type Message = Readonly<{ id: string; event: WebhookEvent | 'test'; at: Date; data: MessageData }>

/** The look of each event in ntfy: its priority from 1 to 5 (default 3), and its tags, which ntfy shows as emoji. */
const NTFY_LOOK: Readonly<Record<Message['event'], { priority: number; tags: readonly string[] }>> = {
  'activity.new': { priority: 3, tags: ['bicyclist'] },
  breakthrough: { priority: 4, tags: ['trophy'] },
  'history.mirrored': { priority: 2, tags: ['books'] },
  'history.recalculated': { priority: 2, tags: ['abacus'] },
  'upload.refused': { priority: 4, tags: ['warning'] },
  'login.lost': { priority: 5, tags: ['key'] },
  'mirror.stale': { priority: 4, tags: ['hourglass'] },
  'mirror.recovered': { priority: 3, tags: ['white_check_mark'] },
  'mirror.restored': { priority: 4, tags: ['rewind'] },
  'backup.failed': { priority: 4, tags: ['warning'] },
  'backup.recovered': { priority: 3, tags: ['white_check_mark'] },
  test: { priority: 3, tags: ['wave'] },
}

/** Makes the request that sends a message to a webhook; `now` is the time of the attempt. */
export function makeRequest(webhook: Webhook, message: Message, now: Date) {
  const common = { 'content-type': 'application/json', 'webhook-id': message.id }
  if (webhook.style === 'ntfy') {
    const { url, topic } = topicOf(webhook.url)
    const { title, text } = message.data
    const click = webhook.click === undefined ? {} : { click: webhook.click }
    const body = JSON.stringify({ topic, title, message: text, ...NTFY_LOOK[message.event], ...click })
    const authorization = webhook.token === undefined ? {} : { authorization: `Bearer ${webhook.token}` }
    return { url, headers: { ...common, ...authorization }, body }
  }
  const { event: type, at, data } = message
  const body = JSON.stringify({ type, timestamp: at.toISOString(), data })
  const timestamp = Math.floor(now.getTime() / SECOND)
  const signature = signatureOf(webhook.secret, { id: message.id, timestamp, body })
  const signed = { 'webhook-timestamp': String(timestamp), 'webhook-signature': signature }
  return { url: webhook.url, headers: { ...common, ...signed }, body }
}

/** Computes `webhook-signature` by the Standard Webhooks specification; `timestamp` is in s since 1970. */
export function signatureOf(
  secret: Buffer,
  { id, timestamp, body }: { id: string; timestamp: number; body: string },
): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}

/**
 * Splits the address of a topic into the server's root, which accepts JSON, and the topic. Uses JSON, because ntfy's headers cannot contain
 * every letter.
 */
function topicOf(address: string): { url: string; topic: string } {
  const url = new URL(address)
  const at = url.pathname.lastIndexOf('/')
  const topic = url.pathname.slice(at + 1)
  url.pathname = url.pathname.slice(0, at + 1)
  return { url: url.href, topic }
}

/** Sends a message once, see sendRequest. */
export function sendMessage(webhook: Webhook, message: Message, options: SendOptions): Promise<Answer> {
  return sendRequest({ method: 'POST', ...makeRequest(webhook, message, new Date()) }, options)
}

/** Sends a message of the event `test` to a webhook. Throws only the reason of the signal. */
export function sendTestMessage(webhook: Webhook, options: SendOptions): Promise<Answer> {
  const text = `Messages of musette reach the webhook "${webhook.name}".`
  const data = { title: 'musette: a test', text, webhook: webhook.name }
  return sendMessage(webhook, { id: randomUUID(), event: 'test', at: new Date(), data }, options)
}
