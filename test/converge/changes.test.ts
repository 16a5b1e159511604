import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findDivergence, openSeedDatabase, RUNS, TIMEOUT_MS } from './seeds.ts'
import type { RunDatabase } from './world/database.ts'

describe(`after any of ${RUNS} random plans and a quiet time, the database equals the service`, () => {
  let database: RunDatabase
  beforeAll(async () => {
    database = await openSeedDatabase()
  })
  afterAll(() => database.close())

  it('whatever changes there, whatever the clocks show, however short its lists', {
    timeout: TIMEOUT_MS,
  }, async () => {
    expect(await findDivergence(database, 'changes')).toBeUndefined()
  })

  it('whatever it answers in the meantime', { timeout: TIMEOUT_MS }, async () => {
    expect(await findDivergence(database, 'faults')).toBeUndefined()
  })
})
