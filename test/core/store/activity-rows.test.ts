import { describe, expect, it } from 'vitest'
import {
  columnsOfDetail,
  columnsToWrite,
  exactStart,
  type KnownRow,
} from '../../../src/core/store/activities/activity-changes.ts'
import { packDocument, unpackDocument } from '../../../src/core/store/activities/raw-documents.ts'
import { makeSamples } from '../../kit/samples.ts'
import { readTable } from '../../kit/table.ts'
import { detailRow, NOWHERE } from './detail.ts'

const START = new Date('2026-05-03T06:00:00.123Z')
const EXACT = '2026-05-03T06:00:00.123456Z'
const LOCAL = '2026-05-03 08:00:00.123456'

it.each([
  [null, '2026-05-03T06:00:00.123Z'],
  ['2026-05-03 08:00:00.123', '2026-05-03T06:00:00.123Z'],
  [LOCAL, EXACT],
  ['2026-05-03 08:00:00.1234', '2026-05-03T06:00:00.1234Z'],
])('a start at the local time %s is written as %s', (local, exact) => {
  expect(exactStart(START, local)).toBe(exact)
})

describe('a detail', () => {
  it('has values of samples only with samples', () => {
    const row = detailRow({ xss: 80, elapsedS: 2 })
    const content = { samples: makeSamples(3), place: { ...NOWHERE, startLat: 1 } }
    expect(columnsOfDetail(row, content)).toMatchObject({ xss: 80, elapsedS: 2, sampleCount: 3, startLat: 1 })
    expect(columnsOfDetail(detailRow(), content)).toMatchObject({ elapsedS: null, xss: null })
    const without = columnsOfDetail(row, undefined)
    for (const column of ['elapsedS', 'sampleCount', 'startLat']) expect(without).not.toHaveProperty(column)
  })

  type Start = { timezone?: string }
  const zone = {
    startedAt: START,
    startedAtLocal: LOCAL,
    timezone: 'UTC',
    timezoneSource: 'unknown',
  } as const
  const known: KnownRow = {
    ...{ name: null, description: null, activity_type: null },
    ...{ detail_fields: { started_at: EXACT }, list_fields: null },
    ...{ started_at: '2026-05-03T06:00:00.123456+00:00', start_lat: 52.5, timezone_source: 'setting' },
  }
  const later = new Date(START.getTime() + 1)
  it.each<[string, Partial<KnownRow>, object, boolean]>([
    ['with a zone found elsewhere', {}, {}, false],
    ['that only the list had said', { detail_fields: null, list_fields: { started_at: EXACT } }, {}, false],
    ['with an unknown zone', { timezone_source: 'unknown' }, {}, true],
    ['with the zone of a position that stays', { timezone_source: 'position' }, {}, false],
    ['with the zone of its file', { timezone_source: 'position', start_lat: null }, {}, false],
    ['whose answer tells a zone', {}, { timezoneSource: 'service' }, true],
    ['that is damaged by a microsecond', { started_at: '2026-05-03T06:00:00.123457+00:00' }, {}, true],
    ['that nobody had said', { detail_fields: null }, {}, true],
    ['that is another one', {}, { startedAt: later }, true],
  ])('with the start %s writes it: %s', (_, before, change, isWritten) => {
    const row = detailRow({ ...zone, ...change, xss: 80 })
    const { after } = columnsToWrite(row, { before: { ...known, ...before }, content: undefined })
    expect(after.xss).toBe(80)
    expect((after as Start).timezone).toBe(isWritten ? 'UTC' : undefined)
    expect('startedAt' in after && 'startedAtLocal' in after).toBe(isWritten)
  })

  it('updates the zone of a position with new samples', () => {
    const content = { samples: makeSamples(3), place: NOWHERE }
    const before: KnownRow = { ...known, timezone_source: 'position' }
    expect(columnsToWrite(detailRow(zone), { before, content }).after).toHaveProperty('timezone', 'UTC')
  })

  /** The members that a cell names: `name=a description=null`. */
  const membersOf = (cell = '') =>
    Object.fromEntries(
      [...cell.matchAll(/(\w+)=(\w+)/g)].map(([, key, value]) => [key, value === 'null' ? null : value]),
    ) as Record<string, string | null>

  // What is written | the row holds | the answer has | detail and list told before | it is
  it.each(
    readTable(`
      what the detail tells anew | name=a | name=b | name=a | name=b
      nothing that is known | name=a | name=a | name=a |
      nothing over a later rename of the list | name=b | name=a | name=a list=b |
      nothing where it tells none | name=a | | name=a |
      the name over one that neither told | name=x | name=a | name=a list=b | name=a
      the name of the list where it tells none | name=x | | list=b | name=b
      an emptied description | description=b | description=null | description=b | description=null
      a description that is gone, of which the list says nothing | | description=b | description=b listed=null | description=b
      none where the list alone tells of it | description=x | | listed=null | description=null
      its type | activity_type=x | activityType=a | type=b | activityType=a
      the type of the list where it tells none | activity_type=x | | type=b | activityType=b`),
  )('writes %s', (_, held, row, told, written) => {
    const { list, listed, type, ...detail } = membersOf(told)
    const list_fields = {
      ...(list !== undefined && { name: list }),
      ...(listed !== undefined && { description: listed }),
      ...(type !== undefined && { activity_type: type }),
    }
    const before: KnownRow = { ...known, ...membersOf(held), list_fields, detail_fields: detail }
    const { name, description, activityType } = columnsToWrite(detailRow(membersOf(row)), {
      before,
      content: undefined,
    }).after
    expect({ name, description, activityType }).toEqual(membersOf(written))
  })
})

it('a stored answer that is damaged says how', async () => {
  const document = Buffer.from('{"success":true}')
  const packed = await packDocument(document)
  await expect(unpackDocument({ ...packed, sha256: 'x' }, 100)).rejects.toThrow('its checksum')
  await expect(unpackDocument({ ...packed, encoding: 'br' }, 100)).rejects.toThrow('its encoding is "br"')
  await expect(unpackDocument({ ...packed, body: document }, 100)).rejects.toThrow('its gzip cannot be read')
  await expect(unpackDocument(packed, 3)).rejects.toThrow('its gzip cannot be read')
})
