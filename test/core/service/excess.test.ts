import { describe, expect, it } from 'vitest'
import { readActivity } from '../../../src/core/service/service.ts'
import { columnsOf, parseActivity, parseActivityList } from '../../../src/core/service/wire/wire-activity.ts'
import { parseToken } from '../../../src/core/service/wire/wire-token.ts'
import { parseUpload } from '../../../src/core/service/wire/wire-upload.ts'
import {
  parseTrainingInfo,
  parseWorkout,
  parseWorkoutList,
} from '../../../src/core/service/wire/wire-workouts.ts'
import { excessOfText } from '../../../src/kit/json.ts'
import { unwrap } from '../../kit/parsed.ts'

const LONG = 'x'.repeat(1_001)
const DEEP_TEXT = `${'['.repeat(6_000)}${']'.repeat(6_000)}`
const DEEP: unknown = JSON.parse(DEEP_TEXT)
const MANY = Object.fromEntries(Array.from({ length: 50_001 }, (_, index) => [`f${index}`, index]))
const TOO_DEEP = 'is nested deeper than 100 levels'
const TOO_MANY = 'has more than 50000 fields'
const TOO_LONG = 'path is longer than 1000 bytes'
const BAD = [
  [{ path: LONG }, TOO_LONG, `${'x'.repeat(99)}…`],
  [{ path: '二'.repeat(400) }, TOO_LONG, `${'二'.repeat(99)}…`],
  [{ path: 'many', ...MANY }, TOO_MANY, 'many'],
  [{ name: 'Nameless', more: DEEP }, TOO_DEEP, 'Nameless'],
] as const

describe('an oversized entry is reported with its shortened name, and the others are read', () => {
  it.each([
    ['of activities', (items: unknown[]) => parseActivityList({ success: true, activities: items })],
    ['of workouts', (items: unknown[]) => parseWorkoutList({ success: true, workouts: items })],
  ])('in a list %s', (_what, parse) => {
    const longest = 'x'.repeat(1_000)
    const { entries, bad } = unwrap(
      parse([{ path: 'first' }, ...BAD.map(([entry]) => entry), { path: longest }]),
    )
    expect(entries.map(({ path }) => path)).toEqual(['first', longest])
    expect(bad).toEqual(BAD.map(([, reason, named], index) => ({ index: index + 1, reason, named })))
  })

  it('while an oversized field beside the list is reported as drift', () => {
    const { entries, drift } = unwrap(
      parseActivityList({ success: true, activities: [{ path: 'a' }], beside: DEEP, ...MANY }),
    )
    expect([entries.length, drift.length]).toEqual([1, 50_002])
    expect(drift).toContainEqual({ field: 'beside', kind: 'unknown', example: `(a value that ${TOO_DEEP})` })
  })
})

describe('an oversized response fails with the reason', () => {
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

  it('for samples, read from bytes or as objects', () => {
    const read = (sample: string) => {
      const body = Buffer.from(`{"success":true,"summary":{},"session_data":[{"unix_time":1,${sample}}]}`)
      return () => readActivity({ status: 200, headers: {}, body }, 'GET activity x')
    }
    expect(read(JSON.stringify(MANY).slice(1, -1))).toThrow(
      'its samples, or their fields, are too many to hold',
    )
    expect(columnsOf([MANY])).toBeUndefined()
    expect(read(`"more":${DEEP_TEXT}`)).toThrow(`a value of its samples ${TOO_DEEP}`)
  })
})

it('a long text is cut and reported as drift; too many values are not parsed', () => {
  const activities = [{ path: 'a', name: 'n'.repeat(1_001), description: 'd'.repeat(20_000) }]
  const { entries, drift } = unwrap(parseActivityList({ success: true, activities }))
  expect([entries[0]?.name?.length, entries[0]?.description?.length]).toEqual([1_000, 20_000])
  expect(drift).toMatchObject([{ field: 'activities[].name', kind: 'range' }])
  expect(excessOfText(Buffer.from(`[${'{},'.repeat(999_998)}{}]`))).toBeUndefined()
  expect(excessOfText(Buffer.from(`[${'{},'.repeat(1_000_001)}{}]`))).toBe('has more than 2000000 values')
  expect(excessOfText(Buffer.from(`"\\"${'[,'.repeat(2_000_000)}"`))).toBeUndefined()
})

it('a token is read from a response of any depth and size', () => {
  const token = { access_token: 'abc', refresh_token: 'def', expires_in: 3_600 }
  expect(parseToken({ ...token, more: DEEP, ...MANY })).toEqual(token)
})
