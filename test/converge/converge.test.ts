import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Family } from './plan/plan.ts'
import { findDivergence, openSeedDatabase, RUNS, TIMEOUT_MS } from './seeds.ts'
import type { RunDatabase } from './world/database.ts'

describe(`after any of ${RUNS} random plans and a quiet time, the database equals the service`, () => {
  let database: RunDatabase
  beforeAll(async () => {
    database = await openSeedDatabase()
  })
  afterAll(() => database.close())

  it.each<[title: string, family: Family]>([
    ['whatever changes there, whatever the clocks show, however short its lists', 'changes'],
    ['whatever it answers in the meantime', 'faults'],
    ['at whatever statement a process dies or the database restarts', 'crashes'],
    ['whatever happens between a request and its answer, also by another worker', 'workers'],
  ])('%s', { timeout: TIMEOUT_MS }, async (_title, family) => {
    expect(await findDivergence(database, family)).toBeUndefined()
  })
})
