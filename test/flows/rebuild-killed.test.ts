import { beforeAll, describe, expect, it } from 'vitest'
import { DAMAGE, readTables } from '../core/mirror/tables.ts'
import { eventually } from '../kit/eventually.ts'
import { openForAll } from '../kit/open-for.ts'
import { openHold, WAITING_FOR_LOCK } from '../kit/postgres.ts'
import { openCliRig } from '../program/cli/rig.ts'

const ACTIVITIES = 50

describe('a rebuild', () => {
  const rig = openForAll(() => openCliRig({ activities: ACTIVITIES, isSignedIn: true }))
  let whole: Awaited<ReturnType<typeof readTables>>
  const through = async () =>
    Number((await rig.rows('select through from musette.rebuilds'))[0]?.through ?? 0)

  beforeAll(async () => {
    expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
    whole = await readTables(rig.databaseUrl)
  })

  const damage = async () => {
    for (const statement of DAMAGE) await rig.rows(statement)
  }

  /** Locks rows of activities, so that no rebuild finishes. */
  const hold = (ids: number[]) =>
    openHold(rig.databaseUrl, `select from training.activities where activity_id in (${ids}) for update`)

  it('continues with the same result after repeated kills', async () => {
    await damage()
    let before = 0
    for (const held of [15, 35]) {
      const lock = await hold([held])
      const rebuild = rig.start(['rebuild'])
      await eventually(async () => (await through()) > before, { everyMs: 5 })
      // At a random moment within the running batches.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 100))
      await rebuild.kill('SIGKILL')
      await lock.close()
      expect(await through()).toBeLessThan(held)
      before = await through()
    }
    const last = await rig.musette(['rebuild', '--json'])
    expect(last).toMatchObject({ code: 0 })
    expect(JSON.parse(last.stdout)).toMatchObject({ rebuilt: ACTIVITIES - before, earlier: before })
    expect(last.stderr).toContain(`${before} done by an earlier rebuild that was stopped`)
    expect(await readTables(rig.databaseUrl)).toEqual(whole)
    expect(await rig.rows('select * from musette.rebuilds')).toEqual([])
    const outcomes = `select string_agg(outcome, ' ' order by run_id) as all from training.sync_runs where resource = 'rebuild'`
    expect(await rig.rows(outcomes)).toEqual([{ all: 'abandoned abandoned done' }])
  })

  it('stopped by Ctrl-C or Postgres says so and resumes on the next run', async () => {
    await damage()
    // Each of the four running batches waits for one of these rows.
    const four = await hold([5, 15, 25, 35])
    const stopped = rig.start(['rebuild'])
    await eventually(async () => (await rig.rows(WAITING_FOR_LOCK)).length === 4)
    const stopping = stopped.kill('SIGINT')
    await four.close()
    expect(await stopping).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('run it again to continue'),
    })
    expect(await through()).toBe(40)
    const one = await hold([45])
    const rebuild = rig.start(['rebuild'])
    await eventually(async () => (await rig.rows(WAITING_FOR_LOCK)).length === 1)
    await rig.rows(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'musette'`)
    expect(await rebuild.finished).toMatchObject({ code: 4 })
    await one.close()
    expect(await through()).toBe(40)
    expect(await rig.musette(['rebuild'])).toMatchObject({ code: 0 })
    expect(await readTables(rig.databaseUrl)).toEqual(whole)
  })

  it('restarts after a rebuild of another version, and counts missing stored responses', async () => {
    await rig.rows(`insert into musette.rebuilds
      select account_id, '0.0.0', now(), 1000000, '{}' from training.accounts`)
    await rig.rows('delete from training.raw_documents where activity_id = 3')
    const end = await rig.musette(['rebuild', '--json'])
    expect(JSON.parse(end.stdout)).toMatchObject({ rebuilt: ACTIVITIES - 1, without_document: 1 })

    expect(end.stderr).toContain('1 without a stored answer left as they are')
  })
})
