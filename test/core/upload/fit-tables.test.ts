import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readContents } from '../../../src/core/fit/fit-contents.ts'
import { rebuildAccount } from '../../../src/program/app/rebuild-account.ts'
import { makeRide } from '../../kit/ride.ts'
import { readWords } from '../../kit/table.ts'
import { makeRichFit } from '../fit/make-rich-fit.ts'
import { openUploadRig, type UploadRig } from './rig.ts'

const rich = makeRichFit()
const idOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

let rig: UploadRig
beforeAll(async () => {
  rig = await openUploadRig({ env: { MUSETTE_KNOWN_RIDES: 'send' } })
})
afterAll(() => rig.close())

const OF_CONTENT = readWords('fit_files fit_sessions fit_laps fit_devices fit_fields fit_originals')
const TABLES = [...OF_CONTENT, 'fit_records', 'fit_messages']
const IN_FILE = 'file_id = (select file_id from training.fit_files where content_id = $1)'

/** Reads every row that belongs to a content, with the transaction that wrote it. */
async function rowsOf(bytes: Uint8Array): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {}
  for (const table of TABLES) {
    const where = OF_CONTENT.includes(table) ? 'content_id = $1' : IN_FILE
    const select = `select *, xmin::text from training.${table} t where ${where} order by (t.*)::text`
    found[table] = await rig.rows(select, [idOf(bytes)])
  }
  return found
}

describe('a valid FIT file', () => {
  it('is in SQL with laps, sessions, devices and app fields, joined to its activity', async () => {
    expect(await rig.importFile('rich.fit', rich)).toEqual({ action: 'done' })
    await rig.fetchWanted()
    expect(
      await rig.rows(
        `select f.file_name, f.manufacturer, f.product, f.serial_number::text, f.records, f.problem, f.kept, u.activity_path is not null as joined
         from training.ride_files f join training.uploads u using (account_id, content_id)`,
      ),
    ).toEqual([
      {
        ...{ file_name: 'rich.fit', manufacturer: 'garmin', product: 'edge530', serial_number: '3999999999' },
        ...{ records: 120, problem: null, kept: true, joined: true },
      },
    ])
    const [lap, ...others] = await rig.rows(
      `select concat_ws(' ', sport, timer_s, avg_power, weighted_power, avg_speed_mps, min_hr, avg_temperature, round(start_lat::numeric, 4),
         trigger, intensity, extract(epoch from ended_at - started_at)::float8, fields #>> '{developer_fields,note}') as text
       from training.ride_laps order by lap`,
    )
    const first = 'cycling 30 190 221 9.124 90 -3 47.8799 manual warmup 30 lap 1'
    expect([lap?.text, others.length]).toEqual([first, 3])
    const sessions = await rig.rows(
      `select concat_ws(' ', position, sport, sub_sport, right_power_pct, fields -> 'timeInPowerZone') as session
       from training.fit_sessions order by 1`,
    )
    expect(sessions.map(({ session }) => session)).toEqual([
      '1 cycling gravelCycling 49.5 [1.5, 2.25, 0.125]',
      '2 running trail 49.5 [1.5, 2.25, 0.125]',
    ])
    const devices = await rig.rows(
      `select concat_ws(' ', device_index, kind, coalesce(manufacturer, '?'), coalesce(product, '?'), coalesce(serial_number::text, '?'), battery_voltage,
         battery_status, battery_level_pct, connection, messages) as device
       from training.fit_devices where device_index > 0 order by position`,
    )
    expect(devices.map(({ device }) => device)).toEqual([
      '1 bikePower quarq ? 4711 2.5 low antplus 2',
      '2 heartRate wahooFitness ? 12 80 bluetoothLowEnergy 1',
      '3 99 60000 Prototype ß ? antplus 1',
      '2 heartRate ? ? 13 100 bluetoothLowEnergy 1',
    ])
    expect(
      await rig.rows(
        `select field, units, count(*)::int as count, min(value) as least, max(t) - min(t) as span from training.fit_field_values
         group by 1, 2 order by 1`,
      ),
    ).toMatchObject([
      { field: 'Power', units: 'Watts', count: 120, least: 200 },
      { field: 'core_temperature', units: '°C', count: 24, least: 37 },
    ])
    const [power] = await rig.rows(
      `select native_field, application_id from training.fit_fields where name = 'Power'`,
    )
    const application_id = expect.stringMatching(/^00070e/)
    expect(power).toMatchObject({ native_field: 'record.power', application_id })
  })

  it('that is imported again changes no row, and adds missing bytes', async () => {
    await rig.rows('delete from training.fit_originals where content_id = $1 returning 1', [idOf(rich)])
    const before = await rowsOf(rich)
    expect(before.fit_originals).toEqual([])
    await rig.importFile('again.fit', rich)
    const { fit_originals: originals, ...after } = await rowsOf(rich)
    expect(originals).toHaveLength(1)
    expect({ ...after, fit_originals: [] }).toEqual(before)
    await rig.importFile('and again.fit', rich)
    expect(await rowsOf(rich)).toEqual({ ...after, fit_originals: originals })
  })

  it('is read when imported again, if an older version did not read files', async () => {
    const old = makeRide({ seed: 7, start: '2026-04-01T08:00:00Z' })
    await rig.importFile('old.fit', old)
    const before = await rowsOf(old)
    await rig.rows('delete from training.fit_files where content_id = $1 returning 1', [idOf(old)])
    expect((await rowsOf(old)).fit_laps).toEqual([])
    await rig.importFile('old.fit', old)
    const countsOf = (found: Record<string, unknown[]>) => Object.values(found).map(({ length }) => length)
    expect(countsOf(await rowsOf(old))).toEqual(countsOf(before))
    expect(await rig.uploaded()).toHaveLength(2)
  })

  it('leaves no bytes in the database if MUSETTE_KEEP_FIT is false', async () => {
    const bytes = makeRide({ seed: 8, start: '2026-04-02T08:00:00Z' })
    await rig.importFile('light.fit', bytes, { deps: { ...rig.deps, keepFit: false } })
    const { fit_laps: laps, fit_originals: originals } = await rowsOf(bytes)
    expect([laps, originals]).toEqual([[expect.anything()], []])
  })

  it('is read again by a rebuild, which writes only incorrect rows', async () => {
    const bytes = makeRichFit({ seconds: 240 })
    // Without this, the file would count as a version of the first one and wait for a person.
    await rig.rows('delete from training.uploads where content_id = $1 returning 1', [idOf(rich)])
    await rig.importFile('to rebuild.fit', bytes)
    const before = await rowsOf(bytes)
    const plain = (found: Record<string, unknown[]>) =>
      TABLES.map((table) => found[table]?.map((row) => ({ ...(row as object), xmin: '', read_at: '' })))
    const damage = async (...statements: string[]) => {
      for (const statement of statements) {
        const changed = await rig.rows(`${statement} returning 1`, [idOf(bytes)])
        expect([statement, changed.length > 0]).toEqual([statement, true])
      }
      expect(await rebuildAccount(rig.app, { name: rig.account.name })).toMatchObject({ failures: [] })
      const after = await rowsOf(bytes)
      expect(plain(after)).toEqual(plain(before))
      return after
    }
    expect(await damage()).toEqual(before)
    const after = await damage(
      'update training.fit_laps set avg_cadence = 1 where content_id = $1 and position = 2',
      'delete from training.fit_devices where content_id = $1 and position = 1',
      `update training.fit_files set ended_at = '2030-01-01' where content_id = $1`,
      `insert into training.fit_sessions (account_id, content_id, position, fields)
         select account_id, content_id, 9, fields from training.fit_sessions where content_id = $1 limit 1`,
      `update training.fit_records set hr = 40 where position = 2 and ${IN_FILE}`,
      `update training.fit_messages set t = null, fields = '{}' where position = 1 and ${IN_FILE}`,
    )
    const writers = (found: Record<string, unknown[]>) =>
      OF_CONTENT.flatMap((table) => (found[table] ?? []).map((row) => (row as { xmin: string }).xmin))
    const earlier = writers(before)
    expect(writers(after).filter((xmin, index) => xmin !== earlier[index])).toHaveLength(3)
    const older = 'update training.fit_files set reader_version = 1 where content_id = $1'
    await damage(
      ...['fit_records', 'fit_messages'].map((name) => `delete from training.${name} where ${IN_FILE}`),
      older,
    )
  })

  it('is uploaded even if its rows cannot be written', async () => {
    const bytes = makeRide({ seed: 10, start: '2026-04-04T08:00:00Z' })
    await rig.rows('alter table training.fit_laps rename to fit_laps_away')
    try {
      expect(await rig.importFile('unlucky.fit', bytes)).toEqual({ action: 'done' })
    } finally {
      await rig.rows('alter table training.fit_laps_away rename to fit_laps')
    }
    expect((await rowsOf(bytes)).fit_files).toEqual([])
  })
})

describe('a cut FIT file', () => {
  it('is not uploaded; its readable part is in SQL, with the reason', async () => {
    const cut = rich.subarray(0, -40)
    const hourAgo = new Date(rig.deps.now().getTime() - 3_700_000)
    const outcome = await rig.importFile('cut.fit', cut, { restingSince: hourAgo })
    expect(outcome).toMatchObject({ action: 'failed' })
    const { fit_files: files, fit_laps: laps } = await rowsOf(cut)
    expect(files).toMatchObject([{ records: 120, problem: expect.stringContaining('missing at its end') }])
    expect(laps).toHaveLength(readContents(cut).laps.length)
    const noise = Buffer.from('no FIT file at all, for sure')
    await rig.importFile('noise.fit', noise, { restingSince: hourAgo })
    expect((await rowsOf(noise)).fit_files).toEqual([])
  })
})
