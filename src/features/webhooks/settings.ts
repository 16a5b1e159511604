import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { webAddress } from '../../program/config/checks.ts'
import { defineSettings } from '../../program/config/define-settings.ts'
import { isReadableByOthers } from '../../program/config/env-file.ts'

/** The events that a message can be about; the receiver gets the name as `type`. */
export const WEBHOOK_EVENTS = [
  ...(['activity.new', 'breakthrough', 'history.mirrored', 'history.recalculated'] as const),
  ...(['upload.refused', 'login.lost', 'mirror.stale', 'mirror.recovered', 'mirror.restored'] as const),
  ...(['backup.failed', 'backup.recovered'] as const),
] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** A receiver of messages: `standard` by the Standard Webhooks convention, signed with `secret`; `ntfy` as a notification. */
export type Webhook = Readonly<z.output<typeof webhook>>

export type WebhooksFile = NonNullable<ReturnType<typeof webhooksSettings.of>>

const name = z
  .string('is missing')
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/, 'is not 1 to 40 letters, digits, - and _')

const webUrl = webAddress('is not a URL; write for example https://ntfy.sh/topic', 'is missing')

const topicUrl = webUrl.refine(
  (text) => !URL.canParse(text) || /^\/(?:[^/]+\/)*[-_A-Za-z0-9]{1,64}$/.test(new URL(text).pathname),
  'does not end with the name of a topic; write for example https://ntfy.sh/topic',
)

/** Standard Webhooks allows secrets of 24 to 64 bytes. */
const secret = z
  .string('is missing; make one with: echo "whsec_$(openssl rand -base64 32)"')
  .transform((text, context) => {
    const key = Buffer.from(text.replace(/^whsec_/, ''), 'base64')
    if (/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text) && key.length >= 24 && key.length <= 64) return key
    context.addIssue(
      'is not whsec_ and 24 to 64 bytes in base64; make one with: echo "whsec_$(openssl rand -base64 32)"',
    )
    return z.NEVER
  })

const events = z
  .array(z.enum(WEBHOOK_EVENTS, `is not one of ${WEBHOOK_EVENTS.join(', ')}`), 'is not a list')
  .min(1, 'is empty; leave it out for the usual events')
  .default([...WEBHOOK_EVENTS])
  .readonly()

const webhook = z.discriminatedUnion(
  'style',
  [
    z.strictObject({ name, style: z.literal('standard'), url: webUrl, secret, events }),
    z.strictObject({
      name,
      style: z.literal('ntfy'),
      url: topicUrl,
      token: z
        .string('is not a text')
        .regex(/^[\x21-\x7e]+$/, 'is not a token')
        .optional(),
      click: webUrl.optional(),
      events,
    }),
  ],
  'is neither standard nor ntfy',
)

const list = z
  .array(webhook, 'is not a list of webhooks')
  .readonly()
  .superRefine((entries, context) => {
    const names = entries.map((entry) => entry.name)
    names.forEach((each, index) => {
      if (names.indexOf(each) < index)
        context.addIssue({ code: 'custom', path: [index, 'name'], message: 'is not unique' })
    })
  })

function faultOf({ path, message, code }: z.core.$ZodIssue): string {
  const [index, ...members] = path
  const what = code === 'unrecognized_keys' ? 'has an unknown member' : message
  if (typeof index !== 'number') return `names a file that ${what}`
  return `names a file whose webhook ${index + 1}${members.length > 0 ? `, ${members.join(', ')},` : ''} ${what}`
}

/**
 * The file of the webhooks, a list in JSON. If the file is not set or has `faults`, nothing is sent. Each fault is a sentence that follows
 * the name of the variable and quotes no value of the file.
 */
export const webhooksSettings = defineSettings({
  variables: {
    MUSETTE_WEBHOOKS: z
      .string()
      .optional()
      .describe('the file that lists the receivers of messages; unset: nothing is sent'),
  },
  read({ MUSETTE_WEBHOOKS: given }, complain) {
    if (given === undefined) return undefined
    const path = resolve(given)
    let webhooks: readonly Webhook[] = []
    let faults: string[] | undefined
    try {
      const { data, error } = list.safeParse(JSON.parse(readFileSync(path, 'utf8')), { jitless: true })
      webhooks = data ?? []
      faults = error?.issues.map(faultOf)
    } catch (error) {
      faults = [`names a file that ${error instanceof SyntaxError ? 'is not JSON' : 'cannot be read'}`]
    }
    for (const fault of faults ?? []) complain('MUSETTE_WEBHOOKS', fault, 'part')
    const wrong: { faults?: readonly string[] } = faults ? { faults } : {}
    return { ...wrong, path, isReadableByOthers: isReadableByOthers(path), webhooks }
  },
})
