import { describe, expect, it } from 'vitest'
import type { ReadyActivity } from '../../../src/features/webhooks/news.ts'
import { formatActivity, formatBreakthrough, formatLoginLost } from '../../../src/features/webhooks/texts.ts'

// The surface (test/surface) has each message in full. These tests cover messages with missing facts, and rounding.

const AT = new Date('2026-05-03T10:00:00Z')
const LONG = 'x'.repeat(400)
const CUT = `"${'x'.repeat(99)}…"`

const NOTHING: ReadyActivity = {
  ...{ account_id: 1, account: 'default', activity_id: 7, path: 'p1', name: null, activity_type: null },
  ...{ started_at: null, elapsed_s: null, duration: null, distance: null },
  ...{ xss: null, xlss: null, xhss: null, xpss: null, sig_ftp: null, sig_atc: null, sig_pp: null },
  ...{ prev_sig_ftp: null, prev_sig_atc: null, prev_sig_pp: null, medal: null, breakthrough: null },
  ...{ ready_at: AT, seen_together: 1 },
}
const titleAndText = (content: { data: { title: string; text: string } } | undefined) =>
  content && [content.data.title, content.data.text]

describe('the message about an activity', () => {
  it.each<[Partial<ReadyActivity>, string, string]>([
    [{ name: LONG, account: 'second' }, `second: New activity: ${CUT}`, 'mirrored'],
    [{ name: ' ', elapsed_s: 5_400, xss: 79.6 }, 'New activity', '1 h 30 min, XSS 80'],
    [
      { prev_sig_ftp: 249.6, sig_ftp: 250.4, prev_sig_pp: 901, sig_pp: 900 },
      'New activity',
      'PP 901 → 900 W',
    ],
    [{ prev_sig_ftp: 250, sig_pp: 900 }, 'New activity', 'mirrored'],
  ])('with %j has the title "%s" and the text "%s"', (change, title, text) => {
    expect(titleAndText(formatActivity({ ...NOTHING, ...change }))).toEqual([title, text])
  })

  it('reports a breakthrough, a medal, or neither', () => {
    const told = [{ medal: 0, breakthrough: 0 }, { medal: 1, breakthrough: 0 }, { breakthrough: 1 }].map(
      (change) => titleAndText(formatBreakthrough({ ...NOTHING, ...change })),
    )
    expect(told).toEqual([undefined, ['A medal', 'The new activity'], ['A breakthrough', 'The new activity']])
  })
})

it.each([
  'the service refused the login',
  'the service refused the login for a day; if the service is well otherwise, run: musette login second',
  null,
])('the message about a lost login names its command once: %s', (reason) => {
  const { text } = formatLoginLost('second', AT, reason).data
  expect(String(text).split('musette login second')).toHaveLength(2)
})
