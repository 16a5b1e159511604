import { expect, it } from 'vitest'
import type { Jobs } from '../../../src/core/jobs/jobs.ts'
import { fetchSchedules } from '../../../src/core/jobs/schedules.ts'
import { QUICK } from '../../core/jobs/handlers.ts'
import { describeJobs } from '../../core/jobs/rig.ts'
import { eventually } from '../../kit/eventually.ts'

const PER_ACCOUNT = Object.values(QUICK.catalog).filter(({ schedule }) => schedule?.per === 'account').length

/** Expects the schedules of this number of accounts, and the sweep. */
async function expectSchedules(jobs: Jobs, accounts: number): Promise<void> {
  const polls = jobs.queues().find(({ name }) => name === 'polls')
  if (!polls) throw new Error('no queue of polls')
  expect((await fetchSchedules(polls)).size).toBe(PER_ACCOUNT * accounts + 1)
}

describeJobs('the schedules of a club', (rig) => {
  it('are all found across several pages, and none runs twice', async () => {
    // A page has 1,000.
    const ids = Array.from({ length: Math.ceil(1_100 / PER_ACCOUNT) }, (_, index) => index + 1)
    const jobs = await rig().open({ roles: { scheduler: true, worker: false }, accounts: async () => ids })
    await expectSchedules(jobs, ids.length)
    const before = await jobs.counts()
    rig().lines.length = 0
    await jobs.keepSchedules()
    expect(await jobs.counts()).toEqual(before)
    expect(rig().lines.filter(({ msg }) => msg.includes('updated the schedules'))).toEqual([])
  })

  it('are made once by three processes; a lost schedule runs once, a joining process none', async () => {
    const ids = [1, 2, 3, 4, 5, 6]
    const polls: number[] = []
    let compared = 0
    let isHeld = false
    const input = {
      roles: { scheduler: true, worker: true },
      heartbeatMs: 20,
      accounts: async () => {
        compared += 1
        return ids
      },
      poll: async (id: number) => {
        await eventually(() => !isHeld)
        polls.push(id)
        return undefined
      },
    }
    const compareManyTimes = async () => {
      const before = compared
      await eventually(() => compared >= before + 12)
    }
    const first = await rig().open(input)
    await eventually(() => polls.length === ids.length)
    await Promise.all([rig().open(input), rig().open(input)])
    await compareManyTimes()
    expect(polls).toHaveLength(ids.length)
    await expectSchedules(first, ids.length)

    isHeld = true
    await rig().emptyQueue()
    await compareManyTimes()
    isHeld = false
    await eventually(() => polls.length === 2 * ids.length)
    await compareManyTimes()
    expect(polls.toSorted((a, b) => a - b)).toEqual(ids.flatMap((id) => [id, id]))
    await expectSchedules(first, ids.length)
  })
})
