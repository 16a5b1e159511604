import { describe, expect, it } from 'vitest'
import { driftOfDate, normalizeDate, offsetSecondsAt } from '../../../src/core/normalize/local-start.ts'
import { readTable, readWords } from '../../kit/table.ts'

const instantOf = (date: string, timezoneType: number, timezone: string) =>
  normalizeDate({ date, timezoneType, timezone })?.instant.toISOString()

describe('PHP dates', () => {
  it.each(
    readTable(`
      a UTC offset | 2024-05-01 08:00:00.000000 | 1 | +02:00 | 2024-05-01T06:00:00.000Z
      a negative UTC offset | 2024-05-01 08:00:00.000000 | 1 | -03:30 | 2024-05-01T11:30:00.000Z
      offset zero and a fraction | 2024-05-01 08:00:00.500000 | 1 | +00:00 | 2024-05-01T08:00:00.500Z
      an abbreviation | 2024-05-01 08:00:00.000000 | 2 | EDT | 2024-05-01T12:00:00.000Z
      an abbreviation with lower case letters | 2024-05-01 08:00:00 | 2 | ChST | 2024-04-30T22:00:00.000Z
      a zone in summer | 2024-07-01 08:00:00.000000 | 3 | America/Toronto | 2024-07-01T12:00:00.000Z
      a zone in winter | 2024-01-01 08:00:00.000000 | 3 | America/Toronto | 2024-01-01T13:00:00.000Z
      UTC | 2017-11-02 13:54:15.000000 | 3 | UTC | 2017-11-02T13:54:15.000Z
      a zone named like an abbreviation, in summer | 2024-07-01 08:00:00.000000 | 3 | CET | 2024-07-01T06:00:00.000Z
      that abbreviation itself | 2024-07-01 08:00:00.000000 | 2 | CET | 2024-07-01T07:00:00.000Z
      a zone name of three letters | 2024-07-01 08:00:00.000000 | 3 | PRC | 2024-07-01T00:00:00.000Z
      the year 1 | 0001-01-01 00:00:00 | 1 | +00:00 | 0001-01-01T00:00:00.000Z
      the year 9999 | 9999-12-31 23:59:59 | 1 | +00:00 | 9999-12-31T23:59:59.000Z
      no date | | 3 | UTC |
      a word for a date | yesterday | 3 | UTC |
      a thirteenth month | 2024-13-01 00:00:00.000000 | 3 | UTC |
      an unknown abbreviation | 2024-05-01 08:00:00.000000 | 3 | XYZT |
      a word for a zone | 2024-05-01 08:00:00.000000 | 3 | system |
      a zone in the date | 2024-05-01 08:00:00 America/New_York | 3 | UTC |
      the year 0 | 0000-01-01 00:00:00.000000 | 3 | UTC |
      the year 10000 in UTC | 9999-12-31 20:00:00.000000 | 3 | -10:00 |
      an unknown zone | 2024-05-01 08:00:00.000000 | 3 | Nowhere/Town |
      no zone | 2024-05-01 08:00:00.000000 | 3 | |`),
  )('a date with %s: %s (type %s, "%s") is %s', (_what, date = '', type, timezone = '', instant) => {
    expect(instantOf(date, Number(type), timezone) ?? '').toBe(instant)
  })

  it('a local time that occurs twice means the first instant, or the one nearest to a known time', () => {
    expect(instantOf('2024-10-27 02:30:00.000000', 3, 'Europe/Berlin')).toBe('2024-10-27T00:30:00.000Z')
    const date = { date: '2024-10-27 02:30:00.000000', timezoneType: 3, timezone: 'Europe/Berlin' }
    const near = (time: string) => normalizeDate(date, Date.parse(time))?.instant.toISOString()
    expect(near('2024-10-27T01:30:02Z')).toBe('2024-10-27T01:30:00.000Z')
    expect(near('2024-10-27T01:00:00Z')).toBe('2024-10-27T00:30:00.000Z')
    expect(near('2024-10-27T00:30:02Z')).toBe('2024-10-27T00:30:00.000Z')
  })

  it('a date cannot be read if PHP uses its abbreviation for another zone', () => {
    const names = readWords('ACT AET AGT BET CNT CTT ECT IET MIT NET PLT PNT PRT VST')
    expect(names.filter((name) => instantOf('2024-05-01 08:00:00.000000', 2, name))).toEqual([])
  })

  it('a zone abbreviation has the offset that PHP gives it', () => {
    const hours = `
      UTC 0, GMT 0, Z 0, WET 0, WEST 1, BST 1, IST 2, IDT 3, CET 1, CEST 2, MET 1, MEST 2, EET 2, EEST 3,
      MSK 3, MSD 4, SAST 2, CAT 2, EAT 3, WAT 1, PKT 5, WIB 7, HKT 8, WITA 8, AWST 8, AWDT 9, WIT 9,
      JST 9, KST 9, ACST 9.5, ACDT 10.5, CHST 10, AEST 10, AEDT 11, NZST 12, NZDT 13, SST -11, HST -10,
      HDT -9, AKST -9, AKDT -8, PST -8, PDT -7, MST -7, MDT -6, CST -6, CDT -5, EST -5, EDT -4, AST -4,
      ADT -3, ART -3, NST -3.5, NDT -2.5`
    const expected = hours.split(',').map((each) => each.trim().split(' '))
    for (const [name = '', offset] of expected)
      expect([name, (offsetSecondsAt(name, 0) ?? Number.NaN) / 3_600]).toEqual([name, Number(offset)])
  })

  it.each(
    readTable(`
      +5:45 | 2024-05-01T00:00:00Z | 20700
      -00:53:28 | 2024-05-01T00:00:00Z | -3208
      +15:59 | 2024-05-01T00:00:00Z | 57540
      +16:00 | 2024-05-01T00:00:00Z |
      +01:00 | 9999-12-31T22:59:59Z | 3600
      +01:00 | 9999-12-31T23:00:00Z |
      -01:00 | 0001-01-01T00:30:00Z |`),
  )('an offset applies only if the local year is 1 to 9999: %s at %s is %s s', (zone = '', at = '', s) => {
    expect(String(offsetSecondsAt(zone, Date.parse(at)) ?? '')).toBe(s)
  })

  it('a date is drift if it cannot be read, but not if it is missing', () => {
    expect(driftOfDate('start_date', { date: 'noon', timezone: 'UTC' })).toEqual([
      { field: 'start_date', kind: 'type', example: 'noon UTC' },
    ])
    expect(driftOfDate('start_date', { date: '2024-05-01 08:00:00.000000', timezone: 'UTC' })).toEqual([])
    expect(driftOfDate('start_date', { date: null, timezone: null })).toEqual([])
    expect(driftOfDate('start_date', {})).toEqual([])
    expect(driftOfDate('start_date', { date: '2024-05-01 08:00:00' })).toMatchObject([
      { example: '2024-05-01 08:00:00' },
    ])
  })
})
