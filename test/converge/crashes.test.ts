import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findDivergence, openSeedDatabase, RUNS, TIMEOUT_MS } from './seeds.ts'
import type { RunDatabase } from './world/database.ts'

describe(`after any of ${RUNS} random plans and a quiet time, the database equals the service`, () => {
  let database: RunDatabase
  beforeAll(async () => {
    database = await openSeedDatabase()
  })
  afterAll(() => database.close())

  it('at whatever statement a process dies or the database restarts', { timeout: TIMEOUT_MS }, async () => {
    expect(await findDivergence(database, 'crashes')).toBeUndefined()
  })

  it('whatever happens between a request and its answer, also by another worker', {
    timeout: TIMEOUT_MS,
  }, async () => {
    expect(await findDivergence(database, 'workers')).toBeUndefined()
  })
})
