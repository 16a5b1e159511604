import { expect, it } from 'vitest'
import type { Jobs } from '../../../src/core/jobs/jobs.ts'
import { fetchSchedules } from '../../../src/core/jobs/schedules.ts'
import { catalogOf, QUICK } from '../../core/jobs/handlers.ts'
import { describeJobs } from '../../core/jobs/rig.ts'
import { eventually } from '../../kit/eventually.ts'

const ACCOUNTS = 500

const PER_ACCOUNT = Object.values(QUICK.catalog).filter(({ schedule }) => schedule?.per === 'account').length

/** Returns how many schedules there should be: those of each account, and the sweep. */
function schedulesOf(accounts: number): number {
  return PER_ACCOUNT * accounts + 1
}

async function countSchedules(jobs: Jobs): Promise<number> {
  const polls = jobs.queues().find(({ name }) => name === 'polls')
  if (!polls) throw new Error('no queue of polls')
  return (await fetchSchedules(polls)).size
}

describeJobs('the schedules of a club', (rig) => {
  it('are all found again over many pages, and none runs twice', async () => {
    const ids = Array.from({ length: ACCOUNTS }, (_, index) => index + 1)
    const jobs = await rig().open({ roles: { scheduler: true, worker: false }, accounts: async () => ids })
    expect(await countSchedules(jobs)).toBe(schedulesOf(ACCOUNTS))
    const before = await jobs.counts()
    rig().lines.length = 0
    await jobs.keepSchedules()
    expect(await jobs.counts()).toEqual(before)
    expect(rig().lines.filter(({ msg }) => msg.includes('brought up to date'))).toEqual([])
  })
})

describeJobs('three processes that all keep the schedules', (rig) => {
  const IDS = Array.from({ length: 20 }, (_, index) => index + 1)

  it('make each once, run a lost one once after an emptied queue, and start nothing when they join', async () => {
    const polls: number[] = []
    let compared = 0
    let gate = makeGate()
    gate.open()
    const input = {
      roles: { scheduler: true, worker: true },
      heartbeatMs: 20,
      accounts: async () => {
        compared += 1
        return IDS
      },
      poll: async (id: number) => {
        await gate.passed
        polls.push(id)
        return undefined
      },
    }
    const compareManyTimes = async () => {
      const before = compared
      await eventually(() => compared >= before + 30)
    }
    const first = await rig().open(input)
    await eventually(() => polls.length === IDS.length)
    await Promise.all([rig().open(input), rig().open(input)])
    await compareManyTimes()
    expect(polls).toHaveLength(IDS.length)
    expect(await countSchedules(first)).toBe(schedulesOf(IDS.length))

    gate = makeGate()
    await rig().emptyQueue()
    await compareManyTimes()
    gate.open()
    await eventually(() => polls.length === 2 * IDS.length)
    await compareManyTimes()
    expect(polls.toSorted((a, b) => a - b)).toEqual(IDS.flatMap((id) => [id, id]))
    expect(await countSchedules(first)).toBe(schedulesOf(IDS.length))
  })

  it('poll no account more often than one process does', async () => {
    const polledAt: number[] = []
    const input = {
      roles: { scheduler: true, worker: true },
      heartbeatMs: 20,
      catalog: catalogOf(500),
      accounts: async () => [1],
      poll: async () => {
        polledAt.push(Date.now())
        return undefined
      },
    }
    const openedAt = Date.now()
    await rig().open(input)
    await Promise.all([rig().open(input), rig().open(input)])
    await eventually(() => polledAt.length >= 8)
    // The first poll is that of the start, the second comes at any time within the first interval.
    expect((polledAt[7] ?? 0) - openedAt).toBeGreaterThanOrEqual(6 * 500)
  })
})

/** Makes a promise that lasts until somebody opens it. */
function makeGate(): { passed: Promise<void>; open(): void } {
  let open: () => void = () => undefined
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open: () => open() }
}
