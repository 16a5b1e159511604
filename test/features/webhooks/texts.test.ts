import { describe, expect, it } from 'vitest'
import type { ReadyActivity, Recalculation } from '../../../src/features/webhooks/news.ts'
import {
  type Condition,
  formatActivity,
  formatBreakthrough,
  formatCondition,
  formatDigest,
  formatLoginLost,
  formatRefused,
  formatRestored,
} from '../../../src/features/webhooks/texts.ts'

const AT = new Date('2026-05-03T10:00:00Z')
const LONG = 'x'.repeat(400)
const CUT = `${'x'.repeat(299)}…`

const NOTHING: ReadyActivity = {
  ...{ account_id: 1, account: 'default', activity_id: 7, path: 'p1', name: null, activity_type: null },
  ...{ started_at: null, elapsed_s: null, duration: null, distance: null },
  ...{ xss: null, xlss: null, xhss: null, xpss: null, sig_ftp: null, sig_atc: null, sig_pp: null },
  ...{ prev_sig_ftp: null, prev_sig_atc: null, prev_sig_pp: null, medal: null, breakthrough: null },
  ...{ ready_at: AT, seen_together: 1 },
}
const titleAndText = (content: { data: { title: string; text: string } } | undefined) =>
  content && [content.data.title, content.data.text]

describe('the message about a new activity', () => {
  it.each<[Partial<ReadyActivity>, string, string]>([
    [{ name: ' ' }, 'New activity', 'mirrored'],
    [{ name: LONG, account: 'second' }, `second: ${CUT}`, 'mirrored'],
    [{ name: 'Ride', elapsed_s: 5_400, xss: 79.6 }, 'Ride', '1 h 30 min, XSS 80'],
    [{ name: 'Ride', prev_sig_ftp: 250, sig_ftp: 255.4 }, 'Ride', 'FTP 250 → 255 W'],
    [{ name: 'Ride', prev_sig_ftp: 249.6, sig_ftp: 250.4 }, 'Ride', 'mirrored'],
    [{ name: 'Ride', prev_sig_pp: 901, sig_pp: 900 }, 'Ride', 'PP 901 → 900 W'],
    [{ name: 'Ride', prev_sig_ftp: 250, sig_pp: 900 }, 'Ride', 'mirrored'],
  ])('of %j is titled "%s" and says "%s"', (change, title, text) => {
    expect(titleAndText(formatActivity({ ...NOTHING, ...change }))).toEqual([title, text])
  })

  it('has the columns of the activity for programs, and the time at which its scores came', () => {
    const started = { ...NOTHING, started_at: new Date('2026-05-03T08:00:00Z') }
    const { account_id: _, ready_at: __, seen_together: ___, ...columns } = started
    const person = { title: 'New activity', text: 'mirrored' }
    const data = { ...person, ...columns, started_at: '2026-05-03T08:00:00.000Z' }
    expect(formatActivity(started)).toEqual({ event: 'activity.new', at: AT, data })
    expect(formatActivity(NOTHING).data).toEqual({ ...data, started_at: null })
  })
})

it.each<[Partial<ReadyActivity>, ...([] | [title: string, text: string])]>([
  [{ medal: 0, breakthrough: 0 }],
  [{ medal: 1, breakthrough: 0 }, 'A medal', 'New activity'],
  [{ breakthrough: 1, prev_sig_pp: 900, sig_pp: 910 }, 'A breakthrough', 'New activity: PP 900 → 910 W'],
])('the message about a breakthrough of %j is %j %j', (change, ...expected) => {
  expect(titleAndText(formatBreakthrough({ ...NOTHING, ...change })) ?? []).toEqual(expected)
})

it.each([
  [{ file_name: 'a.fit' }, 'A file was refused', 'a.fit: no reason is known'],
  [{ file_name: LONG, reason: LONG }, 'A file was refused', `${CUT}: ${CUT}`],
  [{ files: 2 }, 'Files were refused', '2 more files were refused; run: musette status'],
])('the message about refused files %j', (change, title, text) => {
  const nothing = { files: 1, file_name: null, content_id: null, reason: null }
  expect(titleAndText(formatRefused('default', AT, { ...nothing, ...change }))).toEqual([title, text])
})

it('the message about a lost login has the reason if known', () => {
  const text = (reason: string | null) => formatLoginLost('default', AT, reason).data.text
  const wait = 'Nothing is mirrored or uploaded until you sign in again'
  expect(text(null)).toBe(`${wait}; run: musette login`)
  expect(text(LONG)).toBe(`${wait} (${CUT}); run: musette login`)
})

it('the message about a restore has no account, and names the backup if known', () => {
  const facts = { up_to: 41, cause: null, backup_made_at: null, identity: null, line: null }
  const end = 'what the service has since is mirrored again by itself'
  const said = { title: 'The mirror was restored', text: `The database is restored from the backup; ${end}` }
  const restored = { event: 'mirror.restored', at: AT, data: { ...facts, ...said } }
  expect(formatRestored(AT, facts)).toEqual(restored)
  const moved = 'The database goes on elsewhere or from an earlier moment'
  expect(formatRestored(AT, { ...facts, cause: 'timeline' }).data.text).toBe(`${moved}; ${end}`)
})

const SCORES: Recalculation = {
  ...{ activities: 40, xss_change: null, ftp_before: null, ftp_after: null },
  ...{ first_day: '2026-01-01', last_day: '2026-05-03' },
}
const CHANGED = 'The scores of 40 activities from 2026-01-01 to 2026-05-03 changed'
it.each([
  ['upload.refused', 3, undefined, '3 more files were refused; run: musette status'],
  ['history.mirrored', 1, undefined, '1 activity was mirrored'],
  ['history.mirrored', 2, undefined, '2 activities were mirrored'],
  ['history.recalculated', 1, undefined, undefined],
  ['history.recalculated', 1, SCORES, CHANGED],
  ['history.recalculated', 1, { ...SCORES, xss_change: 12.6 }, `${CHANGED}, XSS +13 in all`],
  ['history.recalculated', 1, { ...SCORES, xss_change: 0.4 }, `${CHANGED}, XSS +0 in all`],
  ['history.recalculated', 1, { ...SCORES, xss_change: -3 }, `${CHANGED}, XSS -3 in all`],
])('the message of a digest of %s, %i, with the scores %j says %j', (event, count, scores, text) => {
  const digest = { account_id: 1, account: 'default', event, count, began_at: AT, last_at: AT }
  expect(formatDigest(digest, scores)?.data.text).toBe(text)
})

it.each<[Condition['kind'], 'wrong' | 'well', string, string, string]>([
  ['mirror', 'wrong', 'mirror.stale', 'second: The mirror is stale', `${CUT}; run: musette sync`],
  [
    'mirror',
    'well',
    'mirror.recovered',
    'second: The mirror is up to date again',
    'The service is polled again',
  ],
  ['backup', 'wrong', 'backup.failed', 'The backup failed', `${CUT}; run: musette sync`],
  ['backup', 'well', 'backup.recovered', 'The backups are made again', 'The last backup is complete'],
])('the message about the condition %s that is %s', (kind, state, event, title, text) => {
  const account = kind === 'mirror' ? { accountId: 2, name: 'second' } : null
  const data = { title, text, ...(account && { account: account.name }) }
  const condition = { kind, account, state, sentence: LONG, run: 'musette sync' }
  expect(formatCondition(condition, state, AT)).toEqual({ event, at: AT, data })
})
