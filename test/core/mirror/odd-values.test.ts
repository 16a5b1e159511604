import { describe, expect, it } from 'vitest'
import { useRig } from './rig.ts'

const START = Date.parse('2024-10-27T01:30:00Z')

describe('invalid values', () => {
  const sync = () => rig.sync()
  /** Makes the service answer every activity with this text. */
  const answer = async (body: unknown) => {
    await rig.answer('^/oauth/activity/', typeof body === 'string' ? body : JSON.stringify(body))
  }
  const drift = async () =>
    (await rig.sql`select field, kind from training.drift order by 1, 2`).map(
      ({ field, kind }) => `${field} ${kind}`,
    )

  const rig = useRig({ activities: 1 }, 'training.activities, training.sync_cursors, training.drift')

  it('become null, drift and one log line; the activity is mirrored', async () => {
    const second = (index: number, power: string, hr: string) =>
      `{"unix_time":${START + index * 1_000},"power":${power},"hr":${hr},"cad":90}`
    const samples = [second(0, '3.5e38', '1e400'), second(1, '200', '"Infinity"'), second(2, '210', '140')]
    await answer(
      `{"success":true,"name":"Odd","summary":{"xss":1e400,"mep":"Infinity"},"session_data":[${samples.join()}]}`,
    )
    expect(await sync()).toMatchObject({ fetched: 1, failed: 0 })
    expect(await rig.sql`select power, hr, cad from training.samples order by t`).toEqual([
      { power: null, hr: null, cad: 90 },
      { power: 200, hr: null, cad: 90 },
      { power: 210, hr: 140, cad: 90 },
    ])
    expect(await rig.sql`select xss, mep from training.activities`).toEqual([{ xss: null, mep: null }])
    expect(await rig.sql`select watts from training.power_curves where duration_s = 1`).toEqual([
      { watts: 210 },
    ])
    expect(await drift()).toEqual(
      expect.arrayContaining([
        'session_data.hr range',
        'session_data.hr type',
        'session_data.power range',
        'summary.mep type',
        'summary.xss type',
      ]),
    )
    const lines = rig.log.lines.filter(({ msg }) => String(msg).includes('no column can hold'))
    expect(lines).toEqual([expect.objectContaining({ level: 'warn', values: 2, samples: 0 })])
  })

  it('are kept in the summary as sent', async () => {
    const sent = {
      ...{ xss: '88.125', distance: ' 41.5 ', duration: '', medal: 'gold', focus: { climber: true } },
      ...{ sig: [], session: { avg_power: [1, '2'] }, progression: null, sp: 1.23456789012345e-7, id: '007' },
      ...{ unheard: { of: [true, null, { x: 'é\u2028' }] }, '': 0 },
    }
    const text = (summary: object) =>
      `{"success":true,"name":"Odd","summary":${JSON.stringify(summary)},"session_data":[{"unix_time":${START},"power":1}]}`
    await answer(text(sent))
    await sync()
    const stored = () =>
      rig.sql`select summary, xss, distance, duration, medal, focus from training.activities`
    const columns = { xss: 88.125, distance: 41.5, duration: null, medal: null, focus: null }
    expect(await stored()).toEqual([{ summary: sent, ...columns }])

    const again = async (summary: object) => {
      await rig.heal()
      await answer(text(summary))
      await rig.sql`update training.activities set detail_state = 'wanted'`
      return sync()
    }
    const reordered = Object.fromEntries(Object.entries(sent).reverse())
    expect(await again(reordered)).toMatchObject({ fetched: 0, unchanged: 1 })
    expect(await again({ ...sent, medal: 'silver' })).toMatchObject({ fetched: 1, unchanged: 0 })
    expect(await stored()).toEqual([{ summary: { ...sent, medal: 'silver' }, ...columns }])
    expect(await rig.sql`select changes from training.activity_revisions`).toEqual([])
  })

  it.each([
    ['no summary', '', null],
    ['null', '"summary":null,', null],
    ['PHP’s empty object', '"summary":[],', []],
    ['a text', '"summary":"none yet",', 'none yet'],
    [
      'an object with a name twice and characters that Postgres refuses',
      '"summary":{"a":1,"a":"x\\u0000\\ud800"},',
      { a: 'x\ufffd' },
    ],
  ])('are kept as the summary: %s', async (_what, member, summary) => {
    await answer(`{"success":true,${member}"session_data":[{"unix_time":${START},"power":1}]}`)
    expect(await sync()).toMatchObject({ fetched: 1, failed: 0 })
    expect(await rig.sql`select summary from training.activities`).toEqual([{ summary }])
  })

  it('keep every digit of an ambiguous start; the first sample decides the hour', async () => {
    const start_date = { date: '2024-10-27 02:30:00.123456', timezone_type: 3, timezone: 'Europe/Berlin' }
    await answer({
      ...{ success: true, name: 'Autumn', summary: { start_date } },
      session_data: [{ unix_time: START + 123, power: 100 }],
    })
    await sync()
    const exact = 'select started_at::text, started_at_local::text as local from training.activities'
    const expected = [{ started_at: '2024-10-27 01:30:00.123456+00', local: '2024-10-27 02:30:00.123456' }]
    expect(await rig.rows(exact)).toEqual(expected)
    await rig.sql`update training.activities set summary_hash = null`
    await rig.sql`update training.activities set detail_state = 'wanted'`
    await sync()
    expect(await rig.rows(exact)).toEqual(expected)
    expect(await rig.sql`select changes from training.activity_revisions`).toEqual([])
  })

  it('do not include starts of long ago, which are mirrored like any other', async () => {
    const starts = ['1970-01-02T08:00:00.000Z', '1994-07-05T08:00:00.000Z']
    for (const started_at of starts) await rig.add({ name: 'Old', seconds: 60, started_at })
    expect(await sync()).toMatchObject({ fetched: 3, failed: 0 })
    const old = await rig.sql`select started_at from training.activities where name = 'Old' order by 1`
    expect(old.map(({ started_at }) => (started_at as Date).toISOString())).toEqual(starts)
  })
})
