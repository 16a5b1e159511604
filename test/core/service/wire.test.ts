import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { columnsOf, parseActivity, parseActivityList } from '../../../src/core/service/wire/wire-activity.ts'
import { parseUpload, parseUploadedPath } from '../../../src/core/service/wire/wire-upload.ts'
import { parseWorkout } from '../../../src/core/service/wire/wire-workouts.ts'
import { unwrap } from '../../kit/parsed.ts'

describe('the activity list', () => {
  it('reads the other items if some are bad, and reports which and why', () => {
    const bad = [null, { name: 'no path' }, { path: '' }, { path: 2 ** 60 }, 'x']
    const activities = [{ path: 1234 }, ...bad, { path: 'ok' }]
    const list = unwrap(parseActivityList({ activities }))
    expect(list.entries.map((entry) => entry.path)).toEqual(['1234', 'ok'])
    expect(list.bad.map((bad) => bad.index)).toEqual([1, 2, 3, 4, 5])
    expect(list.bad[1]?.reason).toBe('path is missing or of the wrong type')
  })

  it('reads a PHP array with gaps, and an empty PHP object', () => {
    const activities = { '0': { path: 'a', start_date: [] }, '2': { path: 'b' } }
    const list = unwrap(parseActivityList({ activities }))
    expect(list.entries).toEqual([{ path: 'a' }, { path: 'b' }])
    expect(list.drift).toEqual([])
  })

  it.each([undefined, null, 'none', { error: 'x' }])('is not a list if activities is %j', (activities) => {
    expect(parseActivityList({ success: true, activities })).toMatchObject({ ok: false })
  })
})

describe('an activity', () => {
  it('omits samples that are not objects', () => {
    const mixed = unwrap(parseActivity({ success: true, session_data: [null, { power: 1 }, 7] }))
    expect(mixed.session_data).toEqual(columnsOf([{ power: 1 }]))
    expect(mixed.drift).toEqual([{ field: 'session_data', kind: 'type', example: null }])
  })

  it('distinguishes a response without samples from a request without them', () => {
    expect(unwrap(parseActivity({ success: true, session_data: null })).session_data).toBeNull()
    expect(unwrap(parseActivity({ success: true, session_data: {} })).session_data?.count).toBe(0)
    expect(unwrap(parseActivity({ success: true }))).not.toHaveProperty('session_data')
  })

  it('is parsed with any value in any field', () => {
    const names = ['xss', 'focus', 'sig', 'prev_sig', 'session', 'start_date', 'progression', 'medal']
    const summaries = fc.dictionary(fc.constantFrom(...names), fc.jsonValue())
    fc.assert(
      fc.property(summaries, fc.jsonValue(), fc.jsonValue(), (summary, name, samples) => {
        expect(parseActivity({ success: true, name, summary, session_data: samples }).ok).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})

it('invalid counts and durations of a workout become null and drift', () => {
  const set = { index: 1.5, interval_count: 2.5, duration: 'xyz', duration_rest: '1:2:3', power: 200 }
  const huge = { index: 0, interval_count: 3e9, duration: '01:30', duration_rest: '00:59:20.5' }
  const wire = unwrap(parseWorkout({ success: true, workout: [set, huge] }))
  expect(wire.workout).toEqual([
    { index: null, intervalCount: null, duration: null, durationRest: null, power: 200 },
    { index: 0, intervalCount: null, duration: 90, durationRest: 3_560.5 },
  ])
  const odd = Object.entries(set).slice(0, 4)
  const drift = odd.map(([name, example]) => ({ field: `workout[].${name}`, kind: 'type', example }))
  expect(wire.drift).toEqual(drift)
})

it.each([
  [{ json: { files: [{ url: '/activity/ab12' }] } }, 'ab12'],
  [{ json: { files: [{ url: 'https://service.test/activity/ab%2012/?x=1' }] } }, 'ab 12'],
  [{ json: { files: ['odd'] } }, undefined],
  [{ json: 'meaningless' }, undefined],
  [{}, undefined],
])('the response to an upload names the new activity if possible: %j', (wire, path) => {
  expect(parseUploadedPath(unwrap(parseUpload({ success: true, ...wire })))).toBe(path)
})
