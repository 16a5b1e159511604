import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRig, type Rig } from '../core/mirror/rig.ts'

const LONG = Array.from({ length: 3_000 }, (_, index) =>
  String.fromCharCode(97 + ((index * index) % 23)),
).join('')
const DEEP = `${'['.repeat(6_000)}${']'.repeat(6_000)}`
const START = Date.parse('2024-06-01T08:00:00Z')

/** The members of a JSON object with so many unknown fields. */
const many = (count: number) => Array.from({ length: count }, (_, index) => `"f${index}":1`).join()

let rig: Rig
const sync = () => rig.sync({ training: true })
const badLines = () => rig.log.lines.filter(({ bad }) => Array.isArray(bad))

beforeEach(async () => {
  rig = await openRig({ activities: 1, env: { MUSETTE_HISTORY_START: '2024-01-01' } })
})
afterEach(() => rig.close())

describe('an oversized value', () => {
  it('in an entry of the activity list costs that entry only', async () => {
    const bad = `{"path":"${LONG}"},{"path":"deep","x":${DEEP}},{"path":"wide",${many(60_000)}}`
    const good = `{"path":"good","name":"Good","${LONG}":1,${many(3_000)}}`
    await rig.answer('^/oauth/activity$', `{"success":true,"activities":[${bad},${good}]}`)
    await rig.answer('^/oauth/activity/', '{"success":true,"name":"Good","summary":{},"session_data":[]}')
    expect(await sync()).toMatchObject({ failed: 3 })
    expect(await rig.rows('select path, name from training.activities')).toEqual([
      { path: 'good', name: 'Good' },
    ])
    expect(badLines()[0]).toMatchObject({
      bad: [
        { named: `${LONG.slice(0, 99)}…`, reason: 'path is longer than 1000 bytes' },
        { named: 'deep', reason: 'is nested deeper than 100 levels' },
        { named: 'wide', reason: 'has more than 50000 fields' },
      ],
    })
    const drift = await rig.rows(`select field, example from training.drift where endpoint = 'activity'`)
    expect(drift.length).toBe(501)
    expect(drift).toContainEqual({ field: `activities[].${LONG}`.slice(0, 199).concat('…'), example: '1' })
    expect(drift).toContainEqual({ field: '(further fields)', example: 'at least 500 more' })
  })

  it('in a workout list costs that entry only', async () => {
    const odd = `{"path":{"toString":1}},{"path":"deep","x":${DEEP}}`
    await rig.answer(
      '^/oauth/workouts$',
      `{"success":true,"workouts":[${odd},{"path":"${LONG}"},{"path":"good"}]}`,
    )
    await sync()
    expect(await rig.rows('select path from training.workouts where account_id is not null')).toEqual([
      { path: 'good' },
    ])
    const line = badLines().find(({ resource }) => resource === 'workouts')
    expect(line?.bad).toMatchObject([{ index: 0 }, { named: 'deep' }, { named: `${LONG.slice(0, 99)}…` }])
  })

  it.each([
    ['a summary that is nested too deep', `{"x":${DEEP}}`, '[]', 'is nested deeper than 100 levels'],
    ['a summary of too many fields', `{${many(60_000)}}`, '[]', 'has more than 50000 fields'],
    ['a sample of too many fields', '{}', `[{"unix_time":${START},${many(60_000)}}]`, 'are too many to hold'],
    ['a sample that is nested too deep', '{}', `[{"unix_time":${START},"x":${DEEP}}]`, 'deeper than 100'],
  ])('such as %s fails its activity with the reason', async (_what, summary, samples, reason) => {
    await rig.answer('^/oauth/activity/', `{"success":true,"summary":${summary},"session_data":${samples}}`)
    expect(await sync()).toMatchObject({ fetched: 0, failed: 1 })
    const rows = await rig.rows('select detail_state, fetch_error from training.activities')
    expect(rows).toEqual([{ detail_state: 'failed', fetch_error: expect.stringContaining(reason) }])
  })

  it('in the name of a field of the samples costs that field only', async () => {
    const samples = `[{"unix_time":${START},"power":200,"${LONG}":1,"odd":2}]`
    await rig.answer('^/oauth/activity/', `{"success":true,"summary":{},"session_data":${samples}}`)
    expect(await sync()).toMatchObject({ fetched: 1, failed: 0 })
    expect(await rig.rows('select power from training.samples')).toEqual([{ power: 200 }])
    expect(await rig.rows('select field from training.sample_extras')).toEqual([{ field: 'odd' }])
    const lines = rig.log.lines.filter(({ msg }) => String(msg).includes('no column can hold'))
    expect(lines).toEqual([expect.objectContaining({ level: 'warn', values: 1 })])
  })

  it('in training info fails that poll with the reason, and the activities go on', async () => {
    await rig.answer('^/oauth/training_info$', `{"success":true,"x":${DEEP}}`)
    expect(await sync()).toMatchObject({ fetched: 1 })
    const runs = await rig.rows(
      `select distinct outcome, error from training.sync_runs where resource = 'training_info'`,
    )
    expect(runs).toEqual([{ outcome: 'failed', error: expect.stringContaining('nested deeper') }])
  })
})
