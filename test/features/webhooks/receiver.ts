import { onTestFinished } from 'vitest'
import { WEBHOOK_EVENTS, type Webhook } from '../../../src/features/webhooks/settings.ts'
import { type Answering, openReceiver, type Receiver } from '../../kit/receiver.ts'

/** Opens a receiver that closes at the end of the test. */
export async function openTestReceiver(answer?: Answering): Promise<Receiver> {
  const receiver = await openReceiver(answer)
  onTestFinished(() => receiver.close())
  return receiver
}

export const SECRET = Buffer.alloc(32, 7)
/** The secret in the form of a webhooks file. */
export const WHSEC = `whsec_${SECRET.toString('base64')}`

/** Makes a webhook of style `standard` for all events. */
export function makeWebhook(url: string, change: Partial<Webhook> = {}): Webhook {
  const common = { name: 'home', style: 'standard', secret: SECRET, events: WEBHOOK_EVENTS }
  return { ...common, url, ...change } as Webhook
}
