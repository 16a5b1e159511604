import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DETAIL_FIELDS } from '../../src/core/fields/activity-fields.ts'
import { openForAll } from '../kit/open-for.ts'
import { openTestDatabase } from '../kit/postgres.ts'
import { readTable } from '../kit/table.ts'
import { describeFinding, runSeed } from './campaign.ts'
import { makeChange } from './plan/change.ts'
import type { Family } from './plan/plan.ts'
import { settle } from './plan/run.ts'
import { openScene, type Scene } from './plan/scene.ts'
import { memberAt } from './truth/columns.ts'
import { findDifferences } from './truth/differences.ts'
import { fetchTruths } from './truth/service.ts'
import { openRunDatabase } from './world/database.ts'

/** So many runs of each family, and those of MORE; `npm run converge` does any number. */
const RUNS = 3
/** Seeds above these, each of which finds what one wrong line does that the first ones do not find: see test/promises/breaks.txt. */
const MORE: Readonly<Partial<Record<Family, number>>> = { changes: 13, faults: 15, crashes: 19 }
/** Enough to find a plan that a person can follow, and well below the test's own limit. */
const SHRINK_MS = 60_000

const place = openForAll(openTestDatabase)
const database = openForAll(() => openRunDatabase(place.url))

describe(`after any of ${RUNS} random plans and a quiet time, the database equals the service`, () => {
  it.each<[title: string, family: Family]>([
    ['whatever changes there, whatever the clocks show, however short its lists', 'changes'],
    ['whatever it answers in the meantime', 'faults'],
    ['at whatever statement a process dies or the database restarts', 'crashes'],
    ['whatever happens between a request and its answer, also by another worker', 'workers'],
  ])('%s', { timeout: 600_000 }, async (_title, family) => {
    const first = Array.from({ length: RUNS }, (_, index) => index + 1)
    for (const seed of [...first, MORE[family] ?? []].flat()) {
      const finding = await runSeed(database, { seed, family, shrinkMs: SHRINK_MS })
      if (finding) expect.fail(describeFinding(finding))
    }
  })
})

describe('the comparison of the database with the service', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene(database, { lagMin: 5 })
    const ride = { do: 'add', daysAgo: 3, seconds: 60, delayMin: 0, zone: 1, text: 'Ride' } as const
    await makeChange(scene, { ...ride, odd: true })
    await makeChange(scene, { ...ride, odd: false })
    await settle(scene)
  })
  afterAll(() => scene.close())

  it('finds nothing after a quiet time', async () => {
    expect([...scene.complaints, ...(await findDifferences(scene))]).toEqual([])
  })

  it('looks at every field of the list, which the sandbox sends by its own reading of the document', async () => {
    const truths = await fetchTruths(scene.service, scene.paths)
    const unsent = Object.values(DETAIL_FIELDS).filter(({ path }) =>
      truths.every(({ detail }) => memberAt(detail.summary, path) === undefined),
    )
    expect(unsent, 'add it to src/sandbox/athlete/summary.ts').toEqual([])
    // A column has the name of its field: no two are mistaken for each other.
    for (const [column, { path }] of Object.entries(DETAIL_FIELDS))
      expect(`_${path.replaceAll('.', '_')}`).toMatch(new RegExp(`_${column}$`))
  })

  // What is wrong | how it comes about; one for each thing that is compared.
  it.each(
    readTable(`
    a sample | update training.samples set power = power + 1 where ctid = (select max(ctid) from training.samples)
    a lost sample | delete from training.samples where ctid = (select max(ctid) from training.samples)
    samples of no activity | insert into training.samples (activity_id) values (-1)
    a number of the summary | update training.activities set xss = xss + 0.001
    a field that has no column | update training.activities set summary = summary - 'unheard'
    an activity that is wrongly absent | update training.activities set absent_since = now()
    an activity that is not there | delete from training.activities where ctid = (select max(ctid) from training.activities)
    an activity that nobody has | update training.activities set path = path || 'x'
    a power curve | update training.power_curves set watts = watts + 1 where duration_s = 5
    the extra fields of the samples | delete from training.sample_extras
    a raw document | update training.raw_documents set sha256 = ''
    a revision | insert into training.activity_revisions select activity_id, now(), '{"xss":[1,2]}' from training.activities
    the cursor | update training.sync_cursors set updated_from = updated_from - interval '1 hour'
    a change that was not told | delete from training.changes where change_id = (select max(change_id) from training.changes)
    a run that never ended | update training.sync_runs set outcome = 'running', finished_at = null`),
  )('finds %s', async (_what, statement = '') => {
    await database.rows('begin')
    await database.rows(statement)
    expect(await findDifferences(scene)).not.toEqual([])
    await database.rows('rollback')
  })
})
