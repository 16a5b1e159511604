import { describe, expect, it } from 'vitest'
import { readActivity } from '../../../src/core/service/service.ts'
import { columnsOf, parseActivity, parseActivityList } from '../../../src/core/service/wire/wire-activity.ts'
import { parseToken } from '../../../src/core/service/wire/wire-token.ts'
import { parseUpload, parseUploadedPath } from '../../../src/core/service/wire/wire-upload.ts'
import {
  parseTrainingInfo,
  parseWorkout,
  parseWorkoutList,
} from '../../../src/core/service/wire/wire-workouts.ts'
import { excessOfText } from '../../../src/kit/json.ts'

const LONG = 'x'.repeat(1_001)
const DEEP: unknown = JSON.parse(`${'['.repeat(6_000)}${']'.repeat(6_000)}`)
const MANY = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`f${index}`, index]))
const TOO_DEEP = 'is nested deeper than 100 levels'
const TOO_MANY = 'has more than 50000 fields'
const BAD = [
  { path: LONG },
  { path: '二'.repeat(400) },
  { path: 'deep', more: DEEP },
  { path: 'many', ...MANY },
  { name: 'Nameless', more: DEEP },
]
const NAMED = [
  { index: 1, reason: 'path is longer than 1000 bytes', named: `${'x'.repeat(99)}…` },
  { index: 2, reason: 'path is longer than 1000 bytes', named: `${'二'.repeat(99)}…` },
  { index: 3, reason: TOO_DEEP, named: 'deep' },
  { index: 4, reason: TOO_MANY, named: 'many' },
  { index: 5, reason: TOO_DEEP, named: 'Nameless' },
]

describe('an oversized entry is reported as bad, with its shortened name, and the other entries are read', () => {
  it.each([
    ['of activities', (items: unknown[]) => parseActivityList({ success: true, activities: items })],
    ['of workouts', (items: unknown[]) => parseWorkoutList({ success: true, workouts: items })],
  ])('in a list %s', (_what, parse) => {
    const longest = 'x'.repeat(1_000)
    const parsed = parse([{ path: 'first' }, ...BAD, { path: longest }])
    if (!parsed.ok) throw new Error(parsed.reason)
    expect(parsed.value.entries.map(({ path }) => path)).toEqual(['first', longest])
    expect(parsed.value.bad).toEqual(NAMED)
  })

  it('among the sets of a workout', () => {
    const parsed = parseWorkout({ success: true, workout: [{ power: 200 }, { power: 100, more: DEEP }] })
    expect(parsed).toMatchObject({ ok: true, value: { bad: [{ index: 1, reason: TOO_DEEP }] } })
    if (parsed.ok) expect(parsed.value.workout).toHaveLength(1)
  })

  it('while any field beside the list is drift', () => {
    const parsed = parseActivityList({ success: true, activities: [{ path: 'a' }], beside: DEEP, ...MANY })
    if (!parsed.ok) throw new Error(parsed.reason)
    expect(parsed.value.entries).toHaveLength(1)
    const example = `(a value that ${TOO_DEEP})`
    expect(parsed.drift).toContainEqual({ field: 'beside', kind: 'unknown', example })
    expect(parsed.drift).toHaveLength(200_001)
  })

  it('with thousands of unknown fields as at most a thousand lines of drift', () => {
    const fieldsOf = (item: number) => Array.from({ length: 10_000 }, (_, at) => [`${item}-${at}`, at])
    const items = Array.from({ length: 20 }, (_, item) => {
      return { path: `p${item}`, ...Object.fromEntries(fieldsOf(item)) }
    })
    const parsed = parseActivityList({ success: true, activities: items })
    expect(parsed.ok && [parsed.value.entries.length, parsed.drift.length]).toEqual([20, 1_000])
  })
})

describe('an oversized answer fails with the reason', () => {
  const parsers = [
    ['an activity', (more: object) => parseActivity({ success: true, summary: more })],
    ['training info', (more: object) => parseTrainingInfo({ success: true, wotd: more })],
    ['a workout', (more: object) => parseWorkout({ success: true, workout: [], more })],
    ['an upload', (more: object) => parseUpload({ success: true, json: more })],
  ] as const
  it.each(parsers)('for %s', (_what, parse) => {
    expect(parse({ more: DEEP })).toEqual({ ok: false, reason: TOO_DEEP })
    expect(parse(MANY)).toEqual({ ok: false, reason: TOO_MANY })
  })

  it('for samples, read from the bytes or as objects', () => {
    const sample = `{"unix_time":1,${JSON.stringify(MANY).slice(1)}`
    const answer = (text: string) => ({ status: 200, headers: {}, body: Buffer.from(text) })
    const read = (samples: string) =>
      readActivity(answer(`{"success":true,"summary":{},"session_data":[${samples}]}`), 'GET activity x')
    expect(() => read(sample)).toThrow('its samples, or their fields, are too many to hold')
    expect(columnsOf([MANY])).toBeUndefined()
    const deep = `{"unix_time":1,"more":${'['.repeat(6_000)}${']'.repeat(6_000)}}`
    expect(() => read(deep)).toThrow(`a value of its samples ${TOO_DEEP}`)
  })
})

it('a long text is cut, which is drift, and numbers of values are limited before they are read', () => {
  const parsed = parseActivityList({
    success: true,
    activities: [{ path: 'a', name: 'n'.repeat(1_001), description: 'd'.repeat(20_000) }],
  })
  if (!parsed.ok) throw new Error(parsed.reason)
  const [entry] = parsed.value.entries
  expect([entry?.name?.length, entry?.description?.length]).toEqual([1_000, 20_000])
  expect(parsed.drift).toMatchObject([{ field: 'activities[].name', kind: 'range' }])
  expect(excessOfText(Buffer.from(`[${'{},'.repeat(999_998)}{}]`))).toBeUndefined()
  expect(excessOfText(Buffer.from(`[${'{},'.repeat(1_000_001)}{}]`))).toBe('has more than 2000000 values')
  expect(excessOfText(Buffer.from(`"\\"${'[,'.repeat(2_000_000)}"`))).toBeUndefined()
})

describe('a name that no index can hold', () => {
  it('is ignored as the activity of an upload and as the workout of the day', () => {
    const url = `https://service.example/activity/${LONG}`
    expect(parseUploadedPath({ url })).toBeUndefined()
    const parsed = parseTrainingInfo({ success: true, wotd: { type: 'workout', workoutId: LONG } })
    expect(parsed).toMatchObject({ ok: true, value: { wotdType: 'workout', wotdWorkoutId: null } })
    expect(parsed.ok && parsed.drift).toMatchObject([{ field: 'wotd.workoutId', kind: 'type' }])
  })
})

it('a token is read from an answer of any depth and size', () => {
  const token = { access_token: 'abc', refresh_token: 'def', expires_in: 3_600 }
  expect(parseToken({ ...token, more: DEEP, ...MANY })).toEqual(token)
})
