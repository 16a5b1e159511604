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
])('a start with the local time %s is written as %s', (local, exact) => {
  expect(exactStart(START, local)).toBe(exact)
})

describe('a detail', () => {
  it('sets the columns of samples only if it has samples', () => {
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
    ['has a time zone from elsewhere', {}, {}, false],
    ['only the list had sent', { detail_fields: null, list_fields: { started_at: EXACT } }, {}, false],
    ['has an unknown time zone', { timezone_source: 'unknown' }, {}, true],
    ['has the time zone of a position that stays', { timezone_source: 'position' }, {}, false],
    ['has the time zone of its file', { timezone_source: 'position', start_lat: null }, {}, false],
    ['comes with a time zone', {}, { timezoneSource: 'service' }, true],
    ['is damaged by a microsecond', { started_at: '2026-05-03T06:00:00.123457+00:00' }, {}, true],
    ['neither list nor detail had sent', { detail_fields: null }, {}, true],
    ['differs from the known one', {}, { startedAt: later }, true],
  ])('writes a start that %s: %s', (_, before, change, isWritten) => {
    const row = detailRow({ ...zone, ...change, xss: 80 })
    const { after } = columnsToWrite(row, { before: { ...known, ...before }, content: undefined })
    expect(after.xss).toBe(80)
    expect((after as Start).timezone).toBe(isWritten ? 'UTC' : undefined)
    expect('startedAt' in after && 'startedAtLocal' in after).toBe(isWritten)
  })

  it('updates the time zone of a position if it has new samples', () => {
    const content = { samples: makeSamples(3), place: NOWHERE }
    const before: KnownRow = { ...known, timezone_source: 'position' }
    expect(columnsToWrite(detailRow(zone), { before, content }).after).toHaveProperty('timezone', 'UTC')
  })

  /** Returns the members that a cell names, such as `name=a description=null`. */
  const membersOf = (cell = '') =>
    Object.fromEntries(
      [...cell.matchAll(/(\w+)=(\w+)/g)].map(([, key, value]) => [key, value === 'null' ? null : value]),
    ) as Record<string, string | null>

  // What it writes | values in the row | values in the answer | earlier values of detail and list | written values
  it.each(
    readTable(`
      a new name of its own | name=a | name=b | name=a | name=b
      no unchanged name | name=a | name=a | name=a |
      no name over a later rename in the list | name=b | name=a | name=a list=b |
      no name if it has none | name=a | | name=a |
      its name over one that neither list nor detail sent | name=x | name=a | name=a list=b | name=a
      the name of the list if it has none | name=x | | list=b | name=b
      an emptied description | description=b | description=null | description=b | description=null
      a lost description, although the list has none | | description=b | description=b listed=null | description=b
      no description if only the list sent an empty one | description=x | | listed=null | description=null
      its type | activity_type=x | activityType=a | type=b | activityType=a
      the type of the list if it has none | activity_type=x | | type=b | activityType=b`),
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

it('a damaged stored answer says what is wrong with it', async () => {
  const document = Buffer.from('{"success":true}')
  const packed = await packDocument(document)
  await expect(unpackDocument({ ...packed, sha256: 'x' }, 100)).rejects.toThrow('its checksum')
  await expect(unpackDocument({ ...packed, encoding: 'br' }, 100)).rejects.toThrow('its encoding is "br"')
  await expect(unpackDocument({ ...packed, body: document }, 100)).rejects.toThrow('its gzip cannot be read')
  await expect(unpackDocument(packed, 3)).rejects.toThrow('its gzip cannot be read')
})
