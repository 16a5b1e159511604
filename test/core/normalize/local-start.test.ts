import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { normalizePlace } from '../../../src/core/normalize/activity-answer.ts'
import {
  normalizeDate,
  normalizeLocalStart,
  normalizeZones,
} from '../../../src/core/normalize/local-start.ts'
import type { ZoneFacts } from '../../../src/core/store/activities/zone-rows.ts'
import { makeSamples, UNKNOWN } from '../../kit/samples.ts'
import { readTable, readWords } from '../../kit/table.ts'

type Spot = readonly [number, number]

const AUCKLAND: Spot = [-36.8485, 174.7633]
const SAN_FRANCISCO: Spot = [37.7749, -122.4194]
const KATHMANDU: Spot = [27.7172, 85.324]

/** Normalizes a start that the service sent in UTC, for an activity that started at a place. */
function startAt(utc: string, spot?: Spot, zone = { timezoneType: 3, timezone: 'UTC' }) {
  const moment = normalizeDate({ date: `${utc}.000000`, ...zone })
  if (!moment) throw new Error('the date can be read')
  const place = placeOf(spot ? [spot] : [])
  const { startedAt, timezone, startedAtLocal, timezoneSource } = normalizeLocalStart(moment, place)
  return { at: startedAt.toISOString(), local: startedAtLocal.slice(0, 19), timezone, timezoneSource }
}

function placeOf(spots: readonly Spot[]) {
  const samples = makeSamples(spots.length, () => UNKNOWN)
  for (const [index, [lat, lng]] of spots.entries()) {
    samples.columns.lat[index] = lat
    samples.columns.lng[index] = lng
  }
  return normalizePlace(samples)
}

describe('starts sent in UTC', () => {
  it.each(
    readTable(`
      Auckland | 2026-03-01 19:00:00 | -36.8485, 174.7633 | 2026-03-02 08:00:00 | Pacific/Auckland
      San Francisco | 2026-03-02 02:30:00 | 37.7749, -122.4194 | 2026-03-01 18:30:00 | America/Los_Angeles
      Kathmandu, +05:45 | 2026-03-01 23:15:00 | 27.7172, 85.324 | 2026-03-02 05:00:00 | Asia/Kathmandu
      Nukuʻalofa, +13 | 2026-03-01 11:30:00 | -21.1393, -175.2049 | 2026-03-02 00:30:00 | Pacific/Tongatapu
      Pago Pago, −11 | 2026-03-01 10:59:59 | -14.2756, -170.702 | 2026-02-28 23:59:59 | Pacific/Pago_Pago
      Lord Howe, summer: +11 | 2026-01-01 13:00:00 | -31.5553, 159.0821 | 2026-01-02 00:00:00 | Australia/Lord_Howe
      Lord Howe, winter: +10:30 | 2026-07-01 13:30:00 | -31.5553, 159.0821 | 2026-07-02 00:00:00 | Australia/Lord_Howe
      Berlin, the night without 2 o’clock | 2026-03-29 01:00:00 | 52.52, 13.405 | 2026-03-29 03:00:00 | Europe/Berlin
      Berlin, the first 2:30 of a night with two | 2026-10-25 00:30:00 | 52.52, 13.405 | 2026-10-25 02:30:00 | Europe/Berlin
      Berlin, the second 2:30 of that night | 2026-10-25 01:30:00 | 52.52, 13.405 | 2026-10-25 02:30:00 | Europe/Berlin
      Berlin in 1979, without daylight saving time | 1979-07-01 10:00:00 | 52.52, 13.405 | 1979-07-01 11:00:00 | Europe/Berlin
      the Atlantic, by longitude | 2026-03-01 12:00:00 | 40, -40 | 2026-03-01 09:00:00 | Etc/GMT+3
      the 180th meridian | 2026-03-01 12:00:00 | -16.8, 180 | 2026-03-02 00:00:00 | Pacific/Fiji`),
  )('a start gets the local time of its place: %s', (_where, utc = '', spot = '', local, timezone) => {
    const [lat = 0, lng = 0] = spot.split(',').map(Number)
    const at = `${utc.replace(' ', 'T')}.000Z`
    expect(startAt(utc, [lat, lng])).toEqual({ at, local, timezone, timezoneSource: 'position' })
  })

  it('a start without a valid position stays in UTC (0, 0 is no position)', () => {
    const moment = normalizeDate({ date: '2026-03-01 19:00:00.123456', timezoneType: 3, timezone: 'UTC' })
    for (const spot of [undefined, [0, 0], [Number.NaN, 7], [91, 7], [7, -181]] as const)
      expect(moment && normalizeLocalStart(moment, placeOf(spot ? [spot] : []))).toMatchObject({
        ...{ timezone: 'UTC', timezoneSource: 'unknown', startedAtLocal: '2026-03-01 19:00:00.123456' },
      })
  })

  it('the first valid position of a recording gives the time zone', () => {
    const place = placeOf([[Number.NaN, Number.NaN], [0, 0], AUCKLAND, SAN_FRANCISCO])
    const moment = normalizeDate({ date: '2026-03-01 19:00:00.123456', timezoneType: 3, timezone: 'UTC' })
    expect(moment && normalizeLocalStart(moment, place)).toEqual({
      startedAt: new Date('2026-03-01T19:00:00.123Z'),
      timezone: 'Pacific/Auckland',
      timezoneSource: 'position',
      startedAtLocal: '2026-03-02 08:00:00.123456',
    })
  })

  it('the position gives the time zone, however the service writes UTC', () => {
    for (const timezone of readWords('UTC utc Etc/UTC GMT Z +00:00 Etc/GMT Zulu')) {
      const sent = startAt('2026-03-01 19:00:00', AUCKLAND, { timezoneType: 3, timezone })
      expect(sent).toMatchObject({ timezone: 'Pacific/Auckland', timezoneSource: 'position' })
    }
  })
})

it.each([
  [1, '+02:00', '2026-07-01T06:00:00.000Z'],
  [1, '+05:30:15', '2026-07-01T02:29:45.000Z'],
  [2, 'EDT', '2026-07-01T12:00:00.000Z'],
  [2, 'WET', '2026-07-01T08:00:00.000Z'],
  [3, 'Europe/London', '2026-07-01T07:00:00.000Z'],
])('a zone other than UTC takes precedence over the position: type %i, %s', (timezoneType, timezone, at) => {
  expect(startAt('2026-07-01 08:00:00', AUCKLAND, { timezoneType, timezone })).toEqual({
    at,
    local: '2026-07-01 08:00:00',
    timezone,
    timezoneSource: 'service',
  })
})

it('the start instant is as sent; local time differs by the offset of the place', () => {
  const instants = fc.date({ min: new Date('1900-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
  const spots = fc.tuple(
    fc.double({ min: -90, max: 90, noNaN: true }),
    fc.double({ min: -180, max: 180, noNaN: true }),
  )
  fc.assert(
    fc.property(instants, spots, (instant, spot) => {
      const utc = instant.toISOString().slice(0, 19).replace('T', ' ')
      const { at, local } = startAt(utc, spot)
      expect(at).toBe(`${utc.replace(' ', 'T')}.000Z`)
      const hours = (Date.parse(`${local.replace(' ', 'T')}Z`) - Date.parse(at)) / 3_600_000
      expect(Math.abs(hours)).toBeLessThan(16)
    }),
    { numRuns: 300 },
  )
  const known = [AUCKLAND, SAN_FRANCISCO, KATHMANDU].map((spot) => startAt('2026-01-01 12:00:00', spot).local)
  expect(known).toEqual(['2026-01-02 01:00:00', '2026-01-01 04:00:00', '2026-01-01 17:45:00'])
})

const DAY_MS = 86_400_000
const NOON = Date.parse('2026-03-10T12:00:00Z')

const PLACES: Readonly<Record<string, Spot>> = {
  Auckland: AUCKLAND,
  Kathmandu: KATHMANDU,
  Berlin: [52.52, 13.405],
}
const HOUR_S = 3_600

/**
 * Parses an activity: its day after NOON, then known facts. `at`: its first position; `file`: UTC offset in its FIT file, h; `in`: first
 * position in its FIT file; `says`: zone and offset of the service; `was`: stored zone, source and offset.
 */
function readFacts(text: string, activityId: number): ZoneFacts {
  const [day, ...words] = readWords(text)
  const none = { startLat: null, startLng: null, fileOffsetS: null, fileLat: null, fileLng: null }
  const facts: ZoneFacts = {
    ...{ activityId, startedAt: new Date(NOON + Number(day) * DAY_MS), ...none },
    ...{ timezone: 'UTC', timezoneSource: null, offsetS: 0 },
  }
  while (words.length > 0) {
    const word = words.shift()
    const next = words.shift() ?? ''
    const [lat = null, lng = null] = PLACES[next] ?? []
    if (word === 'at') Object.assign(facts, { startLat: lat, startLng: lng })
    else if (word === 'in') Object.assign(facts, { fileLat: lat, fileLng: lng })
    else if (word === 'file') Object.assign(facts, { fileOffsetS: Number(next) * HOUR_S })
    else
      Object.assign(facts, {
        ...{ timezone: next, timezoneSource: word === 'says' ? 'service' : words.shift() },
        offsetS: Number(words.shift()) * HOUR_S,
      })
  }
  return facts
}

describe('time zones of activities', () => {
  it.each(
    readTable(`
      an activity takes the zone of the nearest one, with the offset of its own day | | -30 at Berlin > Europe/Berlin position 1; -20 > Europe/Berlin nearest 1; -9 > Pacific/Auckland nearest 13; 0 at Auckland > Pacific/Auckland position 13; 29 > Pacific/Auckland nearest 12; 31 > UTC unknown 0
      the home zone applies if no activity within 30 days has a zone | America/Toronto | 0 at Auckland > Pacific/Auckland position 13; 30 > Pacific/Auckland nearest 12; 31 > America/Toronto setting -4
      the offset in the FIT file is named after a known zone | America/Toronto | 0 at Kathmandu > Asia/Kathmandu position 5.75; 1 file 5.75 > Asia/Kathmandu file 5.75; 2 file -4 > America/Toronto file -4; 3 file 9.5 > +09:30 file 9.5; 3.1 > +09:30 nearest 9.5
      the first position in the FIT file takes precedence over its offset | | 0 file 1 in Auckland > Pacific/Auckland position 13; 1 file 1 in Auckland at Kathmandu > Asia/Kathmandu position 5.75; 2 file 1 in Auckland says EDT -4 > EDT service -4
      a zone from the service or a position is kept | Europe/Berlin | 0 says EDT -4 > EDT service -4; 1 at Auckland was Pacific/Auckland position 13 > Pacific/Auckland position 13
      a zone is found again if the position of the activity is gone | | 0 was Pacific/Auckland position 13 > UTC unknown 0`),
  )('%s', (_, home, text = '') => {
    const lines = text.split(';').map((line) => line.split('>'))
    const options = { home: home || null }
    const rows = lines.map(([known = ''], index) => readFacts(known, index + 1))
    const changes = new Map(
      normalizeZones(rows, options).map(({ was, ...change }) => [was.activityId, change]),
    )
    const after = rows.map((row) => ({ ...row, ...changes.get(row.activityId) }))
    const zones = after.map(({ timezone, timezoneSource, offsetS }) => {
      return `${timezone} ${timezoneSource} ${(offsetS ?? 0) / HOUR_S}`
    })
    expect(zones).toEqual(lines.map(([, expected]) => expected?.trim()))
    // Unchanged activities are not returned.
    expect(normalizeZones(after, options)).toEqual([])
  })
})
