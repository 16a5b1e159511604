import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DAMAGE, readTables } from '../core/mirror/tables.ts'
import { eventually } from '../kit/eventually.ts'
import { queryOnce, WAITING_FOR_LOCK } from '../kit/postgres.ts'
import { type CliRig, openCliRig } from '../program/cli/rig.ts'

const ACTIVITIES = 50

describe('a rebuild', () => {
  let rig: CliRig
  let whole: Awaited<ReturnType<typeof readTables>>
  const rows = (text: string) => queryOnce(rig.databaseUrl, text)
  const rebuildRuns = () =>
    rows(`select outcome, listed, changed from training.sync_runs where resource = 'rebuild' order by run_id`)
  const through = async () => Number((await rows('select through from musette.rebuilds'))[0]?.through ?? 0)

  beforeAll(async () => {
    rig = await openCliRig({ activities: ACTIVITIES, longestActivitySeconds: 1_800 })
    await rig.signIn()
    expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
    whole = await readTables(rig.databaseUrl)
  }, 120_000)
  afterAll(() => rig.close())

  const damage = async () => {
    for (const statement of DAMAGE) await rows(statement)
  }

  /** Holds the rows of activities while `work` runs, so that no rebuild comes to its end before. */
  const whileLocked = async (
    activityIds: number[],
    work: (free: () => Promise<unknown>) => Promise<void>,
  ) => {
    const client = new pg.Client({ connectionString: rig.databaseUrl })
    await client.connect()
    try {
      await client.query('begin')
      await client.query('select from training.activities where activity_id = any ($1) for update', [
        activityIds,
      ])
      await work(() => client.query('rollback'))
    } finally {
      await client.end()
    }
  }

  it('that is killed repeatedly at any moment continues, with the same result', async () => {
    await damage()
    let before = 0
    for (const held of [15, 25, 35]) {
      await whileLocked([held], async () => {
        const rebuild = rig.start(['rebuild'])
        await eventually(async () => (await through()) > before, { everyMs: 5 })
        // Anywhere within the batches that are under way.
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 100))
        await rebuild.kill('SIGKILL')
      })
      expect(await through()).toBeLessThan(held)
      before = await through()
    }
    const last = await rig.musette(['rebuild', '--json'])
    expect(last).toMatchObject({ code: 0 })
    expect(JSON.parse(last.stdout)).toMatchObject({ rebuilt: ACTIVITIES - before, earlier: before })
    expect(last.stderr).toContain(`${before} done before by the rebuild that was stopped`)
    expect(await readTables(rig.databaseUrl)).toEqual(whole)
    expect(await rows('select * from musette.rebuilds')).toEqual([])
    expect((await rebuildRuns()).map(({ outcome }) => outcome)).toEqual([
      ...['abandoned', 'abandoned', 'abandoned', 'done'],
    ])
  }, 180_000)

  it('that Ctrl-C or Postgres stops says so and continues the next time', async () => {
    await damage()
    // Each of the four batches that are under way waits for one of them.
    await whileLocked([5, 15, 25, 35], async (free) => {
      const rebuild = rig.start(['rebuild'])
      await eventually(async () => (await rows(WAITING_FOR_LOCK)).length === 4)
      const stopping = rebuild.kill('SIGINT')
      await free()
      const end = await stopping
      expect(end).toMatchObject({ code: 130 })
      expect(end.stderr).toContain('run it again to go on from here')
    })
    const at = await through()
    expect(at).toBe(40)
    await whileLocked([45], async () => {
      const rebuild = rig.start(['rebuild'])
      await eventually(async () => (await rows(WAITING_FOR_LOCK)).length === 1)
      await rows(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'musette'`)
      expect(await rebuild.finished).toMatchObject({ code: 4 })
    })
    expect(await through()).toBe(at)
    expect(await rig.musette(['rebuild'])).toMatchObject({ code: 0 })
    expect(await readTables(rig.databaseUrl)).toEqual(whole)
  }, 180_000)

  it('left by another version or an older day begins again', async () => {
    await rows('truncate musette.rebuilds')
    await rows(
      `insert into musette.rebuilds select account_id, '0.0.0', now(), 1000000, '{}' from training.accounts`,
    )
    await damage()
    expect(JSON.parse((await rig.musette(['rebuild', '--json'])).stdout)).toMatchObject({
      rebuilt: ACTIVITIES,
    })
    expect(await readTables(rig.databaseUrl)).toEqual(whole)
  }, 120_000)

  it('during a recalculation by the daemon has the result of one more pass', async () => {
    await rig.steer('POST', 'recalculate')
    const daemon = rig.start(['start'], { env: { MUSETTE_POLL_EVERY: '1s' } })
    const recalculated = async () =>
      (await rows('select count(distinct activity_id)::int as n from training.activity_revisions'))[0]?.n
    await eventually(async () => Number(await recalculated()) > 0)
    expect(await rig.musette(['rebuild'])).toMatchObject({ code: 0 })
    await eventually(async () => (await recalculated()) === ACTIVITIES, { timeoutMs: 120_000 })
    await daemon.kill('SIGTERM')
    const mirrored = await readTables(rig.databaseUrl)
    expect(await rig.musette(['rebuild'])).toMatchObject({ code: 0 })
    expect(await readTables(rig.databaseUrl)).toEqual(mirrored)
  }, 240_000)

  it('names what it cannot rebuild, with the command for it and exit code 5', async () => {
    const found = await rows('select path from training.activities order by activity_id limit 3')
    const [first, second, third] = found.map(({ path }) => String(path))
    await rows(`update training.raw_documents set body = 'x' where activity_id in (1, 2)`)
    await rows('delete from training.raw_documents where activity_id = 3')
    const end = await rig.musette(['rebuild', '--json'])
    expect(end.code).toBe(5)
    expect(JSON.parse(end.stdout)).toMatchObject({ rebuilt: ACTIVITIES - 3, failed: 2, without_document: 1 })
    expect(end.stderr).toContain(`1 without a stored answer left as they are (${third})`)
    expect(end.stderr).toContain(`run: musette resync ${first} ${second}`)
    expect(await rig.musette(['rebuild', String(third)])).toMatchObject({ code: 5 })
    expect(await rig.musette(['rebuild', 'nowhere'])).toMatchObject({ code: 2 })
    expect(await rig.musette(['rebuild', '--account', 'nobody'])).toMatchObject({ code: 3 })
    expect(await rig.musette(['resync', String(first), String(second)])).toMatchObject({ code: 0 })
    expect(await rig.musette(['rebuild'])).toMatchObject({ code: 0 })
  }, 120_000)
})
