import { beforeAll, describe, expect, it } from 'vitest'
import { makeCoreCatalog, scrubOf } from '../../../src/core/jobs/catalog.ts'
import { compareActivity, scrubActivities } from '../../../src/core/mirror/compare-activities.ts'
import { makeEntryLookup } from '../../../src/core/mirror/list-activities.ts'
import { findActivity } from '../../../src/core/store/activities/wanted.ts'
import { withHold } from '../../../src/kit/semaphore.ts'
import { findStatus } from '../../../src/program/frame/findings/status-report.ts'
import { contentOf } from '../../flows/upgrade/database-state.ts'
import { readConfig } from '../../kit/config.ts'
import { readTable, readWords } from '../../kit/table.ts'
import { useRig } from './rig.ts'
import { expectMirrored } from './truth.ts'

/** Columns of an activity that hold no value of the service: keys and fetch state. */
const NOT_TOLD = readWords(`
  path detail_state absent_since first_seen_at updated_at listed_at fetched_at verified_at wanted_at next_fetch_at fetch_attempts
  fetch_error samples_at summary summary_hash sport near_breakthrough sig_manual sig_error`)

function otherValue(column: string, type: string): string {
  if (column === '"timezone_source"') return `'service'`
  if (type === 'text') return `coalesce(${column}, '') || 'x'`
  if (type === 'jsonb') return `'{}'`
  if (type.startsWith('timestamp')) return `${column} + interval '1 microsecond'`
  if (type === 'date') return `${column} + 1`
  if (type === 'ARRAY') return `'{7}'`
  return `coalesce(${column}, 0) + 1`
}

describe('comparing activities with the service', () => {
  let paths: string[]
  const rig = useRig({ activities: 4, longestActivitySeconds: 300 })
  beforeAll(async () => {
    await rig.sync()
    paths = (await rig.sql`select path from training.activities order by activity_id`).map(({ path }) =>
      String(path),
    )
  })

  const { signal } = new AbortController()
  const [LONG, SINCE_FUTURE] = ['d'.repeat(20_001), { historyStart: new Date('2090-01-01T00:00:00Z') }]
  const scrub = (limit = 10) => scrubActivities(rig.app.mirror, { account: rig.account, limit, signal })
  const compare = async (path: string, repair = false, options = {}) => {
    const [row] = await rig.sql`select activity_id from training.activities where path = ${path}`
    const activity = await rig.app.mirror.store.read((tx) => findActivity(tx, Number(row?.activity_id)))
    if (!activity) throw new Error('it is mirrored')
    const deps = { ...rig.app.mirror, options: { ...rig.app.mirror.options, ...options } }
    const entryOf = makeEntryLookup(deps, { account: rig.account, signal })
    const input = { account: rig.account, activity, repair, entryOf }
    return withHold((hold) => compareActivity(deps, { ...input, hold }))
  }
  /** Reads the database, without what each request changes. */
  const content = () => contentOf(rig.databaseUrl)
  const one = (text: string) => rig.rows(text).then(([row]) => row)

  it('finds no difference in a new mirror, and records the time', async () => {
    const since = () => one('select min(verified_at) as at from training.activities')
    const before = await since()
    expect(await scrub()).toEqual({ compared: 4, different: 0 })
    expect(Number((await since())?.at)).toBeGreaterThan(Number(before?.at))
    expect(
      await one(`select outcome, listed, changed from training.sync_runs where resource = 'scrub'`),
    ).toEqual({ ...{ outcome: 'done', listed: 4, changed: 0 } })
    const [account] = (await findStatus(rig.app)).accounts
    expect(account).toMatchObject({ verified: 4, verified_since: expect.any(Date), differed: 0 })
  })

  it('finds no difference in an uploaded ride older than the mirrored history', async () => {
    const [path = ''] = paths
    const unlisted = `update training.activities set list_fields = null where path = '${path}'`
    await rig.rows(unlisted)
    expect(await compare(path, false, SINCE_FUTURE)).toEqual({ result: 'equal' })
    expect(await compare(path)).toMatchObject({ result: 'different' })
    expect(await compare(path, true)).toMatchObject({ isRepaired: true })
  })

  it('names the field that the mirror has shortened', async () => {
    const [path = ''] = paths
    await rig.edit(path, { description: LONG })
    await rig.sync()
    const equal = { result: 'equal', shortened: ['description'] }
    expect([await compare(path), await compare(path, true)]).toEqual([equal, equal])
    await rig.edit(path, { description: LONG.slice(1) })
    await rig.sync()
    expect(await compare(path)).toEqual({ result: 'equal' })
  })

  it('finds an edit of samples alone, and records a revision and a feed row', async () => {
    const [path = ''] = paths
    await rig.edit(path, { sample: { hr: 77 } })
    await rig.sync()
    await expect(expectMirrored(rig)).rejects.toThrow()
    const last = await one('select coalesce(max(change_id), 0)::int as id from training.changes')
    expect(await scrub()).toEqual({ compared: 4, different: 1 })
    await expectMirrored(rig)
    const revision = await one(
      `select changes from training.activity_revisions join training.activities using (activity_id)
       where path = '${path}' order by observed_at desc limit 1`,
    )
    expect(revision?.changes).toHaveProperty(['samples.hr', 1], 77)
    const feed = await rig.sql`select kind, path from training.changes where change_id > ${last?.id}`
    expect(feed).toContainEqual({ kind: 'activity.samples', path })
    const told = rig.log.lines.filter(({ level }) => level === 'warn')
    expect(told).toMatchObject([
      { path, fields: expect.arrayContaining([expect.stringMatching(/^samples\.hr \(\d+\)$/)]) },
    ])
    expect((await findStatus(rig.app)).accounts[0]).toMatchObject({ verified: 4, differed: 1 })
    expect(await scrub()).toEqual({ compared: 4, different: 0 })
  })

  it.each(
    readTable(`
      a changed sample | samples.power | update training.samples set power = power + 1 where ctid = (select min(ctid) from training.samples where activity_id = $1)
      a missing sample | samples | delete from training.samples where ctid = (select min(ctid) from training.samples where activity_id = $1)
      a changed power of the curve | power_curves | update training.power_curves set watts = watts + 1 where (activity_id, duration_s) = ($1, 5)
      a changed summary value without a column | summary.nobody | update training.activities set summary = jsonb_set(summary, '{nobody}', '1') where activity_id = $1
      a changed stored response | raw_documents | update training.raw_documents set body = body || 'x'::bytea where activity_id = $1
      a missing stored response | raw_documents | delete from training.raw_documents where activity_id = $1
      a changed checksum of a stored response | raw_documents | update training.raw_documents set sha256 = 'x' where activity_id = $1
      a stored response of another activity | raw_documents | update training.raw_documents r set (sha256, body) = (select sha256, body from training.raw_documents where activity_id <> r.activity_id order by activity_id limit 1) where activity_id = $1`),
  )('finds %s, and repairs it only on request', async (_, field, damage = '') => {
    const row = await one(`select activity_id, path from training.activities where path = '${paths[1]}'`)
    await rig.rows(damage, [row?.activity_id])
    const before = await content()
    const found = await compare(String(row?.path))
    expect(found).toMatchObject({ result: 'different', isRepaired: false })
    const fields = 'differences' in found ? found.differences.map((difference) => difference.field) : []
    expect(fields).toContainEqual(expect.stringContaining(field))
    expect(fields.length).toBeLessThan(4)
    expect(await content()).toEqual(before)
    expect(await compare(String(row?.path), true)).toMatchObject({ result: 'different', isRepaired: true })
    expect(await compare(String(row?.path))).toEqual({ result: 'equal' })
    await expectMirrored(rig)
  })

  /** Returns the columns that are compared, with an SQL expression for a value that none of them has. */
  const columnsOf = async (table: string, not: readonly string[] = []) => {
    const found = await rig.rows(
      `select column_name as name, data_type as type from information_schema.columns where table_schema = 'training'
       and table_name = $1 and is_generated = 'NEVER' and column_name <> all ($2) order by ordinal_position`,
      [table, ['activity_id', 'account_id', ...not]],
    )
    return found.map(({ name, type }) => ({ name: `${name}`, other: otherValue(`"${name}"`, String(type)) }))
  }

  it.each(['a changed value', 'a missing value'])(
    'finds and repairs %s in every column, sample field and derived value',
    async (damage) => {
      const [activity] =
        await rig.sql`select * from training.activities where timezone_source = 'position' order by activity_id limit 1`
      const [id, path] = [activity?.activity_id, String(activity?.path)]
      const set = async (table: string, columns: Array<{ name: string; other: string }>) => {
        const cells = columns.map(
          ({ name, other }) => `"${name}" = ${damage === 'a missing value' ? 'null' : other}`,
        )
        await rig.rows(`update training.${table} set ${cells.join(', ')} where activity_id = $1`, [id])
      }
      const told = await columnsOf('activities', NOT_TOLD)
      const measures = await columnsOf('ride_measures', ['route_id'])
      const [measured] = await rig.sql`select * from training.ride_measures where activity_id = ${id}`
      const intensity = await columnsOf('activity_intensity', ['month', 'absent'])
      const [counted] = await rig.sql`select * from training.activity_intensity where activity_id = ${id}`
      const fields = await columnsOf('samples', ['ordinal'])
      await set('activities', told)
      await set('ride_measures', measures)
      await set('activity_intensity', intensity)
      for (const [index, { name, other }] of fields.entries())
        await rig.rows(
          `update training.samples set "${name}" = ${other} where ctid =
             (select ctid from training.samples where activity_id = $1 order by t, ctid offset ${index * 2} limit 1)`,
          [id],
        )
      const others =
        damage === 'a missing value'
          ? ['sample_extras', 'power_curves'].map((table) => `delete from training.${table}`)
          : ['sample_extras set "values"[3] = 5', 'power_curves set season = season + 1'].map(
              (change) => `update training.${change}`,
            )
      for (const statement of others) await rig.rows(`${statement} where activity_id = $1`, [id])

      const found = await compare(path)
      const differing = new Set('differences' in found ? found.differences.map(({ field }) => field) : [])
      const isTold = (row: typeof activity) => (column: { name: string }) =>
        damage !== 'a missing value' || row?.[column.name] !== null
      const expected = [
        ...told
          .filter(({ name }) => !name.endsWith('_fields'))
          .filter(isTold(activity))
          .map(({ name }) => name),
        ...['list_fields.name', 'detail_fields.name', 'list_fields.started_at', 'detail_fields.started_at'],
        ...measures.filter(isTold(measured)).map(({ name }) => `ride_measures.${name}`),
        // Without a local start there is no day.
        ...intensity
          .filter(isTold(counted))
          .filter(({ name }) => damage !== 'a missing value' || name !== 'day')
          .map(({ name }) => `activity_intensity.${name}`),
        ...fields.map(({ name }) => `samples.${name}`),
        'power_curves',
      ]
      expect(expected.filter((field) => !differing.has(field))).toEqual([])
      expect([...differing].filter((field) => /^samples\./.test(field)).length).toBeGreaterThan(fields.length)
      expect(await compare(path, true)).toMatchObject({ result: 'different', isRepaired: true })
      expect(await compare(path)).toEqual({ result: 'equal' })
      await expectMirrored(rig)
      const [mended] = await rig.sql`select * from training.activities where activity_id = ${id}`
      for (const { name } of told) expect([name, mended?.[name]]).toEqual([name, activity?.[name]])
    },
  )

  it('compares the least recently compared first, and none while one is wanted', async () => {
    await rig.sql`update training.activities set verified_at = now() - interval '1 year' where path = ${paths[2]}`
    await rig.sql`update training.activities set verified_at = null where path = ${paths[3]}`
    const newest = async () =>
      (await one('select path from training.activities order by verified_at desc limit 1'))?.path
    expect(await scrub(1)).toMatchObject({ compared: 1 })
    expect(await newest()).toBe(paths[3])
    expect(await scrub(1)).toMatchObject({ compared: 1 })
    expect(await newest()).toBe(paths[2])
    await rig.sql`update training.activities set detail_state = 'wanted', wanted_at = now() where path = ${paths[0]}`
    expect(await scrub()).toEqual({ compared: 0, different: 0 })
    await rig.sync()
  })

  it('never replaces mirrored values with fewer, and says so in the row', async () => {
    const [path = ''] = paths
    await rig.edit(path, { broken: 'empty-summary' })
    await scrub()
    expect(
      await one(
        `select detail_state, fetch_error, sample_count > 0 as kept, xss > 0 as scored from training.activities where path = '${path}'`,
      ),
    ).toMatchObject({
      ...{ detail_state: 'failed', fetch_error: expect.stringContaining('lacks'), kept: true, scored: true },
    })
    expect(
      await one(
        `select outcome, failed from training.sync_runs where resource = 'scrub' order by run_id desc limit 1`,
      ),
    ).toEqual({ ...{ outcome: 'partial', failed: 1 } })
    await rig.edit(path, { broken: null })
  })

  it('spreads the comparisons evenly over the day', () => {
    expect(scrubOf(0)).toBeUndefined()
    for (const perDay of [1, 20, 1_440, 5_000, 10_000]) {
      const { everyMs = 0, limit = 0 } = scrubOf(perDay) ?? {}
      expect(everyMs).toBeGreaterThanOrEqual(60_000)
      expect((limit * 86_400_000) / everyMs).toBeGreaterThanOrEqual(perDay)
    }
    expect(makeCoreCatalog(readConfig({}))['scrub-activities'].schedule.everyMs).toBe(72 * 60_000)
  })
})
