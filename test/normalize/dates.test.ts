import { describe, expect, it } from 'vitest'
import { driftOfDate, normalizeDate } from '../../src/normalize/dates.ts'

const instantOf = (date: string, timezone_type: number, timezone: string) =>
  normalizeDate({ date, timezone_type, timezone })?.instant.toISOString()

describe('a PHP date', () => {
  it('of type 1 is a UTC offset', () => {
    expect(instantOf('2024-05-01 08:00:00.000000', 1, '+02:00')).toBe('2024-05-01T06:00:00.000Z')
    expect(instantOf('2024-05-01 08:00:00.000000', 1, '-03:30')).toBe('2024-05-01T11:30:00.000Z')
    expect(instantOf('2024-05-01 08:00:00.500000', 1, '+00:00')).toBe('2024-05-01T08:00:00.500Z')
  })

  it('of type 2 is an abbreviation', () => {
    expect(instantOf('2024-05-01 08:00:00.000000', 2, 'EDT')).toBe('2024-05-01T12:00:00.000Z')
    expect(instantOf('2024-01-01 08:00:00.000000', 2, 'CET')).toBe('2024-01-01T07:00:00.000Z')
  })

  it('of type 3 is a zone name, summer and winter', () => {
    expect(instantOf('2024-07-01 08:00:00.000000', 3, 'America/Toronto')).toBe('2024-07-01T12:00:00.000Z')
    expect(instantOf('2024-01-01 08:00:00.000000', 3, 'America/Toronto')).toBe('2024-01-01T13:00:00.000Z')
    expect(instantOf('2017-11-02 13:54:15.000000', 3, 'UTC')).toBe('2017-11-02T13:54:15.000Z')
  })

  it('keeps the wall clock and the zone as the service named them', () => {
    expect(
      normalizeDate({ date: '2024-05-01 08:00:00.000000', timezone_type: 2, timezone: 'EDT' }),
    ).toMatchObject({
      local: '2024-05-01 08:00:00.000000',
      timezone: 'EDT',
    })
  })

  it('that names an hour twice means the first one, or the one that is nearer to a known time', () => {
    expect(instantOf('2024-10-27 02:30:00.000000', 3, 'Europe/Berlin')).toBe('2024-10-27T00:30:00.000Z')
    const date = { date: '2024-10-27 02:30:00.000000', timezone_type: 3, timezone: 'Europe/Berlin' }
    const near = (time: string) => normalizeDate(date, Date.parse(time))?.instant.toISOString()
    expect(near('2024-10-27T01:30:02Z')).toBe('2024-10-27T01:30:00.000Z')
    expect(near('2024-10-27T00:30:02Z')).toBe('2024-10-27T00:30:00.000Z')
  })

  it.each([
    ['SST', '2024-05-01T19:00:00.000Z'],
    ['ART', '2024-05-01T11:00:00.000Z'],
    ['WIB', '2024-05-01T01:00:00.000Z'],
    ['WITA', '2024-05-01T00:00:00.000Z'],
    ['WIT', '2024-04-30T23:00:00.000Z'],
    ['IDT', '2024-05-01T05:00:00.000Z'],
    ['HDT', '2024-05-01T17:00:00.000Z'],
    ['CHST', '2024-04-30T22:00:00.000Z'],
    ['ChST', '2024-04-30T22:00:00.000Z'],
    ['AWDT', '2024-04-30T23:00:00.000Z'],
  ])('of type 2 in %s has the offset that PHP gives it', (timezone, instant) => {
    expect(instantOf('2024-05-01 08:00:00.000000', 2, timezone)).toBe(instant)
  })

  it.each(['ACT', 'AET', 'AGT', 'BET', 'CNT', 'CTT', 'ECT', 'IET', 'MIT', 'NET', 'PLT', 'PNT', 'PRT', 'VST'])(
    'in %s is unknown: PHP does not mean the zone that bears this name elsewhere',
    (timezone) => {
      expect(instantOf('2024-05-01 08:00:00.000000', 2, timezone)).toBeUndefined()
    },
  )

  it('of type 3 in a zone that is named like an abbreviation has its summer time', () => {
    expect(instantOf('2024-07-01 08:00:00.000000', 3, 'CET')).toBe('2024-07-01T06:00:00.000Z')
    expect(instantOf('2024-07-01 08:00:00.000000', 2, 'CET')).toBe('2024-07-01T07:00:00.000Z')
    expect(instantOf('2024-07-01 08:00:00.000000', 3, 'PRC')).toBe('2024-07-01T00:00:00.000Z')
  })

  it('that cannot be read is drift, and one that is missing is not', () => {
    expect(driftOfDate('start_date', { date: 'noon', timezone: 'UTC' })).toEqual([
      { field: 'start_date', kind: 'type', example: 'noon UTC' },
    ])
    expect(driftOfDate('start_date', { date: '2024-05-01 08:00:00.000000', timezone: 'UTC' })).toEqual([])
    expect(driftOfDate('start_date', { date: null, timezone: null })).toEqual([])
    expect(driftOfDate('start_date', undefined)).toEqual([])
  })

  it.each([
    [null, 'UTC'],
    ['yesterday', 'UTC'],
    ['2024-13-01 00:00:00.000000', 'UTC'],
    ['2024-05-01 08:00:00.000000', 'XYZT'],
    ['2024-05-01 08:00:00.000000', 'system'],
    ['2024-05-01 08:00:00 America/New_York', 'UTC'],
    ['0000-01-01 00:00:00.000000', 'UTC'],
    ['9999-12-31 20:00:00.000000', '-10:00'],
    ['2024-05-01 08:00:00.000000', 'Nowhere/Town'],
    ['2024-05-01 08:00:00.000000', null],
  ])('of %j in %j is unknown and not guessed', (date, timezone) => {
    expect(normalizeDate({ date, timezone_type: 3, timezone })).toBeUndefined()
  })
})
