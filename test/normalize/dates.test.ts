import { describe, expect, it } from 'vitest'
import { normalizeDate } from '../../src/normalize/dates.ts'

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

  it('that names an hour twice means the first one', () => {
    expect(instantOf('2024-10-27 02:30:00.000000', 3, 'Europe/Berlin')).toBe('2024-10-27T00:30:00.000Z')
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
