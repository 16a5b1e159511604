import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { exportActivity } from '../../../src/features/export/export-activity.ts'
import { checkExport, exportAll } from '../../../src/features/export/export-all.ts'
import type { Also, TrackFormat } from '../../../src/features/export/export-formats.ts'
import { useRig } from '../../core/mirror/rig.ts'
import { findBinary, runsWith } from '../../kit/binaries.ts'
import { canFold, openFoldedDisk } from '../../kit/folded-disk.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const NAME = 'A <b> & "c"\u0001 ]]> \u{1f6b4}/1'
/** Samples by their second: 30 and 60 follow a pause, 2 has no position, 61 has values that the schemas do not allow. */
const SAMPLES = `(0, 47.4000001, 8.5, 400.3, 120, 90, 250, 0), (1, 47.4001, 8.50000000001, 400.1, 120.4, 90, 251.5, 7.3),
  (2, 0, 0, null, 121, null, null, 15), (3, 1e-7, 180, -3, null, 0, 0, 22), (30, 47.41, 8.51, 1, 130, 91, 200, 30),
  (60, 47.42, 8.52, 1, 131, 92, 201, 40), (61, 47.43, 8.53, 'Infinity', 0, 300, -4, 50)`
const PLACES = [
  [47.4000001, 8.5],
  [47.4001, 8.50000000001],
  [1e-7, -180],
  [47.41, 8.51],
  [47.42, 8.52],
  [47.43, 8.53],
]
const ROWS = [
  `insert into training.activities (account_id, path, name, description, activity_type, listed_at, wanted_at, started_at, started_at_local,
       elapsed_s, sample_count, recorded_from, start_lat, start_lng, detail_state, distance, total_calories)
     select account_id, 'odd', '${NAME}', E'l1\\nl2', 'Cycling', now(), now(), '2025-06-01T08:00:00.5Z', '2025-06-01 10:00', 61, 7, '2025-06-01T08:00:00Z',
       47.4, 8.5, 'mirrored', 0.0501, 12.4 from training.accounts`,
  `insert into training.samples (activity_id, t, lat, lng, alt, hr, cad, power, dist)
     select activity_id, '2025-06-01T08:00:00Z'::timestamptz + s.t * interval '1 s', s.lat, s.lng, s.alt, s.hr, s.cad, s.power, s.dist
     from training.activities, (values ${SAMPLES}) s(t, lat, lng, alt, hr, cad, power, dist) where path = 'odd'`,
  `insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at, state, activity_id, activity_path)
     select account_id, 'odd', 'odd.fit', 1, now(), 'mirrored', activity_id, path from training.activities where path = 'odd'`,
  `insert into training.fit_files (account_id, content_id, size_bytes, parts, records, fields, read_at)
     select account_id, 'odd', 1, 1, 1, '{}', now() from training.accounts`,
  `insert into training.fit_records (file_id, position, t, temperature) select file_id, 1, '2025-06-01T08:00:01.2Z', 21
     from training.fit_files where content_id = 'odd'`,
]
/** Another ride in the same second, whose name differs in case. */
const TWIN = `with made as (
    insert into training.activities (account_id, path, name, activity_type, listed_at, wanted_at, started_at, started_at_local,
        elapsed_s, sample_count, recorded_from, start_lat, start_lng, detail_state)
      select account_id, 'twin', 'NORMAL', activity_type, listed_at, wanted_at, started_at, started_at_local, 1, 1, recorded_from, 47, 8,
        detail_state from training.activities where path = 'odd' returning activity_id, recorded_from)
  insert into training.samples (activity_id, t, lat, lng) select activity_id, recorded_from, 47, 8 from made returning 1`

/**
 * The children of each element in order, and the texts of elements without children, by the schemas of GPX 1.1, TCX 2 and their extensions.
 */
const SCHEMA: Readonly<Record<string, RegExp>> = {
  gpx: /^metadata trk$/,
  metadata: /^name( time)?$/,
  trk: /^name( desc)?( type)?( trkseg)*$/,
  trkseg: /^trkpt( trkpt)*$/,
  trkpt: /^(ele )?time( extensions)?$/,
  extensions: /^(pwr:PowerInWatts ?)?(gpxtpx:TrackPointExtension)?$/,
  'gpxtpx:TrackPointExtension': /^(gpxtpx:atemp ?)?(gpxtpx:hr ?)?(gpxtpx:cad)?$/,
  TrainingCenterDatabase: /^Activities$/,
  Activities: /^Activity$/,
  Activity: /^Id Lap Notes$/,
  Lap: /^TotalTimeSeconds DistanceMeters Calories Intensity TriggerMethod( Track)*$/,
  Track: /^Trackpoint( Trackpoint)*$/,
  Trackpoint:
    /^Time( Position)?( AltitudeMeters)?( DistanceMeters)?( HeartRateBpm)?( Cadence)?( Extensions)?$/,
  Position: /^LatitudeDegrees LongitudeDegrees$/,
  HeartRateBpm: /^Value$/,
  Extensions: /^ns3:TPX$/,
  'ns3:TPX': /^ns3:Watts$/,
}
const WHOLE = /^(gpxtpx:hr|gpxtpx:cad|pwr:PowerInWatts|Calories|Value|Cadence|ns3:Watts)$/
const TIME = /^(time|Time|Id)$/
const FREE = /^(name|desc|type|Notes|Intensity|TriggerMethod)$/

/** Reads XML strictly: returns each element without children with its text, and fails on anything that a schema does not allow. */
function readXml(xml: string): Array<[name: string, text: string]> {
  const open: Array<{ name: string; children: string[]; text: string }> = [
    { name: '', children: [], text: '' },
  ]
  const leaves: Array<[string, string]> = []
  for (const [, close, name = '', rest = '', text = ''] of xml
    .replace(/^<\?xml version="1.0" encoding="UTF-8"\?>/, '')
    .matchAll(/<(\/?)([\w:]+)((?: [\w:]+="[^"<&]*")*)>([^<]*)/g)) {
    const last = open.at(-1)
    if (close === '') {
      last?.children.push(name)
      for (const [, value] of rest.matchAll(/ l(?:at|on)="([^"]*)"/g)) leaves.push(['@', value ?? ''])
      open.push({ name, children: [], text })
      continue
    }
    expect(last?.name).toBe(name)
    open.pop()
    if (last && last.children.length > 0) expect(last.children.join(' ')).toMatch(SCHEMA[name] ?? /^$/)
    else
      leaves.push([name, (last?.text ?? '').replace(/&(lt|gt|amp|quot|#39);/g, (one) => ENTITIES[one] ?? '')])
  }
  expect(open).toHaveLength(1)
  expect(open[0]?.children).toHaveLength(1)
  for (const [name, text] of leaves) {
    if (TIME.test(name)) expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
    else if (WHOLE.test(name)) expect(text).toMatch(/^\d+$/)
    else if (!FREE.test(name)) expect(text).toMatch(/^-?\d+(\.\d+)?$/)
  }
  return leaves
}
const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&quot;': '"',
  '&#39;': "'",
}

describe('a track of an activity', () => {
  const rig = useRig({ activities: 4, longestActivitySeconds: 900 })
  const folder = openForAll(() => openTempDir('tracks'))
  beforeAll(async () => {
    await rig.sync()
    for (const statement of ROWS) await rig.rows(statement)
  })

  async function track(format: TrackFormat, path = 'odd'): Promise<string> {
    let text = ''
    const write = async (piece: string | Uint8Array) => {
      text += piece
    }
    const { signal } = new AbortController()
    const why = await exportActivity(rig.app, { name: rig.account.name, path, format, write, signal })
    return why ?? text
  }

  const textsOf = (xml: string) => {
    const leaves = readXml(xml)
    return (name: string) => leaves.filter(([leaf]) => leaf === name).map(([, text]) => text)
  }

  it('is valid GPX with pauses as segments, exact positions and escaped text', async () => {
    const xml = await track('gpx')
    const of = textsOf(xml)
    expect(of('@').map(Number)).toEqual(PLACES.flat())
    expect(of('name')).toEqual(Array(2).fill(NAME.replace('\u0001', '')))
    expect(of('desc')).toEqual(['l1\nl2'])
    expect(of('time').slice(0, 3)).toEqual([
      '2025-06-01T08:00:00.500Z',
      '2025-06-01T08:00:00.000Z',
      '2025-06-01T08:00:01.000Z',
    ])
    expect(of('ele')).toEqual(['400.3', '400.1', '-3', '1', '1'])
    expect(of('gpxtpx:hr')).toEqual(['120', '120', '130', '131'])
    expect(of('gpxtpx:cad')).toEqual(['90', '90', '0', '91', '92'])
    expect(of('gpxtpx:atemp')).toEqual(['21'])
    expect(of('pwr:PowerInWatts')).toEqual(['250', '252', '0', '200', '201'])
    expect(xml.match(/<trkseg>/g)).toHaveLength(4)
  })

  it('is valid TCX with seconds without a position, the sums of the lap, and power', async () => {
    const xml = await track('tcx')
    const of = textsOf(xml)
    expect(of('Time')).toHaveLength(7)
    expect(of('LatitudeDegrees').map(Number)).toEqual(PLACES.map(([lat]) => lat))
    expect(of('ns3:Watts')).toEqual(['250', '252', '0', '200', '201'])
    expect(of('Value')).toEqual(['120', '120', '121', '130', '131'])
    expect([of('TotalTimeSeconds'), of('Calories'), of('Id')]).toEqual([
      ['61'],
      ['12'],
      ['2025-06-01T08:00:00.500Z'],
    ])
    expect(Number(of('DistanceMeters')[0])).toBeCloseTo(50.1)
    expect(xml.match(/<Track>/g)).toHaveLength(4)
    expect(xml).toContain('Sport="Biking"')
  })

  it('is a GeoJSON feature of lines with at least two positions each', async () => {
    const feature = JSON.parse(await track('geojson'))
    expect(feature).toMatchObject({ type: 'Feature', properties: { name: NAME, sport: 'cycling' } })
    const { coordinates } = feature.geometry
    expect(coordinates[0]).toEqual([
      [8.5, 47.4000001, 400.3],
      [8.50000000001, 47.4001, 400.1],
    ])
    expect(coordinates[1]).toEqual(Array(2).fill([-180, 1e-7, -3]))
    expect(coordinates.map((line: unknown[]) => line.length)).toEqual([2, 2, 2, 2])
    const { times, power, temperature } = feature.properties.coordinateProperties
    expect(times[2]).toEqual(Array(2).fill('2025-06-01T08:00:30.000Z'))
    expect([power[0], temperature[0]]).toEqual([
      [250, 251.5],
      [null, 21],
    ])
  })

  it.each([
    ['eastwards', 1],
    ['westwards', -1],
  ])('is cut at the 180° meridian in each format, %s', async (_, direction) => {
    const longitudes = Array.from({ length: 41 }, (_, index) => {
      const east = 180 + (direction * (index - 20)) / 1_000
      return east > 180 ? east - 360 : east
    })
    await rig.rows(
      `with ride as (insert into training.activities (account_id, path, started_at, recorded_from, elapsed_s, sample_count, start_lat, detail_state, listed_at, wanted_at)
         select account_id, 'taveuni' || $1, t, t, 40, 41, -16.8, 'mirrored', now(), now()
         from training.accounts, (values ('2025-07-01T08:00:00Z'::timestamptz)) at (t) returning activity_id, started_at)
       insert into training.samples (activity_id, t, lat, lng)
       select activity_id, started_at + (n - 1) * interval '1 s', case when n = 11 then null else -16.8 end, lng
       from ride, unnest($2::float8[]) with ordinality p (lng, n) returning 1`,
      [direction, longitudes],
    )
    const path = `taveuni${direction}`
    const { coordinates } = JSON.parse(await track('geojson', path)).geometry
    const linesOf = (xml: string, line: string, longitude: RegExp) =>
      xml
        .split(line)
        .slice(1)
        .map((part) => Array.from(part.matchAll(longitude), ([, lng]) => Number(lng)))
    const formats = [
      coordinates.map((line: number[][]) => line.map(([lng]) => lng)),
      linesOf(await track('gpx', path), '<trkseg>', /lon="([^"]+)"/g),
      linesOf(await track('tcx', path), '<Track>', /<LongitudeDegrees>([^<]+)/g),
    ]
    const placed = longitudes.filter((_, index) => index !== 10).map((lng) => (lng === 180 ? -180 : lng))
    for (const lines of formats) {
      expect(lines).toHaveLength(2)
      expect(lines.flat()).toEqual(placed)
      for (const line of lines) expect(Math.max(...line) - Math.min(...line)).toBeLessThan(1)
    }
    await rig.rows('delete from training.activities where path = $1 returning 1', [path])
  })

  it.runIf(runsWith(findBinary(['gpsbabel'])))('is read by gpsbabel unchanged', async () => {
    for (const [format, reader] of [
      ['gpx', 'gpx'],
      ['tcx', 'gtrnctr'],
    ] as const) {
      const args = ['-t', '-i', reader, '-f', '-', '-o', 'unicsv', '-F', '-']
      const reading = promisify(execFile)('gpsbabel', args)
      reading.child.stdin?.end(await track(format))
      const [head = '', ...lines] = (await reading).stdout.trim().split(/\r?\n/)
      const column = (name: string) => lines.map((line) => line.split(',')[head.split(',').indexOf(name)])
      expect(column('Latitude').map(Number)).toEqual(PLACES.map(([lat]) => Number(lat?.toFixed(6))))
      expect(column('Heartrate').filter(Boolean)).toEqual(['120', '120', '130', '131'])
      expect(column('Cadence').slice(0, 2)).toEqual(['90', '90'])
    }
  })

  it('exists only as TCX without positions; other formats state the reason', async () => {
    await rig.rows(`update training.activities set start_lat = null where path = 'odd' returning 1`)
    const run = 'run: musette export odd --format tcx'
    for (const format of ['gpx', 'geojson'] as const)
      expect(await track(format)).toBe(`activity odd has no positions, which ${format} needs; ${run}`)
    expect(await track('tcx')).toContain('<ns3:Watts>250</ns3:Watts>')
    await rig.rows(`update training.activities set start_lat = 47.4 where path = 'odd' returning 1`)
  })

  const all = (also: readonly Also[] = ['gpx'], dir = 'rides') =>
    exportAll(rig.app, { dir: resolve(folder.path, dir), kind: 'by_hand', also })
  const list = async () => {
    const found = await readdir(join(folder.path, 'rides'), { recursive: true })
    return found.filter((name) => name.endsWith('.gpx')).sort()
  }

  describe.each([
    ['any disk', true, () => openTempDir('tracks')],
    ['a disk that ignores case', canFold(), openFoldedDisk],
  ] as const)('with a changed or shared name, on %s', (_, isThere, openDisk) => {
    const gpx = async (dir: string) => {
      const found = await readdir(dir, { recursive: true })
      return found.flatMap((name) => /2025-06-01T080000Z_(.*)\.gpx$/.exec(name)?.[1] ?? []).sort()
    }
    const rename = (name: string) =>
      rig.rows(`update training.activities set name = '${name}' where path = 'odd' returning 1`)
    afterAll(() => rename(NAME))

    it.runIf(isThere).each([
      ['Normal', 'NORMAL'],
      ['über', 'ÜBER'],
      ['Straße', 'STRASSE'],
    ])('has one file after a change from %j to %j', async (before, after) => {
      const { path } = await openForTest(openDisk())
      const dir = join(path, 'rides')
      const { signal } = new AbortController()
      await rename(before)
      await all(['gpx'], dir)
      expect(await gpx(dir)).toEqual([before])
      await rename(after)
      await all(['gpx'], dir)
      expect(await gpx(dir)).toEqual([after])
      expect((await checkExport(rig.app, { dir, signal })).faults).toEqual([])
      expect(await all(['gpx'], dir)).toMatchObject({ written: 0, removed: 0 })
    })

    it.runIf(isThere)('has its own file beside a track with the same name in another case', async () => {
      const { path } = await openForTest(openDisk())
      const dir = join(path, 'rides')
      const { signal } = new AbortController()
      await rename('Normal')
      await rig.rows(TWIN)
      onTestFinished(
        async () => void (await rig.rows(`delete from training.activities where path = 'twin' returning 1`)),
      )
      await all(['gpx'], dir)
      expect(await gpx(dir)).toEqual([expect.stringMatching(/^NORMAL_[0-9a-f]{12}$/), 'Normal'])
      expect((await checkExport(rig.app, { dir, signal })).faults).toEqual([])
    })
  })

  it('is named by day and name, and rewritten only if the activity changed', async () => {
    expect(await all()).toMatchObject({ files: 5, written: 5, removed: 0 })
    const [odd] = (await list()).filter((name) => name.includes('2025-06-01'))
    expect(odd).toBe('gpx/account=default/year=2025/2025-06-01T080000Z_A -b- & -c- ]]- \u{1f6b4}-1.gpx')
    expect(await readFile(join(folder.path, 'rides', String(odd)), 'utf8')).toBe(await track('gpx'))
    expect(await all()).toMatchObject({ files: 5, written: 0, removed: 0 })
    await rig.rows(
      `update training.activities set description = 'l3', updated_at = now() where path = 'odd' returning 1`,
    )
    expect(await all()).toMatchObject({ files: 5, written: 1, removed: 0 })
    await rig.rows(
      `update training.activities set name = 'Other', absent_since = now() where path = 'odd' returning 1`,
    )
    expect(await all()).toMatchObject({ files: 5, written: 1, removed: 1 })
    expect(await list()).toContain('gpx/account=default/year=2025/2025-06-01T080000Z_Other.gpx')
    await rig.rows(`delete from training.activities where path = 'odd' returning 1`)
    const { signal } = new AbortController()
    const checked = await checkExport(rig.app, { dir: join(folder.path, 'rides'), signal })
    expect(checked.faults).toMatchObject([{ why: 'gone' }])
    expect(checked.run).toBe(`musette export --all --format gpx --tracks ${join(folder.path, 'rides')}`)
    expect(await all()).toMatchObject({ files: 4, written: 0, removed: 1 })
  })

  it('does not share a folder with Parquet files', async () => {
    await all([], 'history')
    await expect(all(['gpx'], 'history')).rejects.toThrow(
      /holds Parquet files; name another folder, or run: musette export --all --to /,
    )
    await expect(all([], 'rides')).rejects.toThrow(
      /holds tracks; .* run: musette export --all --format gpx --tracks /,
    )
  })
})
