import { randomUUID } from 'node:crypto'
import { type Answer, type SendOptions, sendRequest } from '../../kit/http/send-request.ts'
import { type Message, makeRequest } from './message-request.ts'
import type { Webhook } from './settings.ts'

/** Sends a message once, see sendRequest. */
export function sendMessage(
  webhook: Webhook,
  message: Message,
  { now = new Date(), ...options }: SendOptions & { now?: Date },
): Promise<Answer> {
  return sendRequest({ method: 'POST', ...makeRequest(webhook, message, now) }, options)
}

/** Sends a message of the event `test` to any webhook. Throws only the reason of the signal. */
export function sendTestMessage(webhook: Webhook, options: SendOptions): Promise<Answer> {
  const text = `Messages of musette reach the webhook "${webhook.name}".`
  const data = { title: 'musette: a test', text, webhook: webhook.name }
  return sendMessage(webhook, { id: randomUUID(), event: 'test', at: new Date(), data }, options)
}
