import { expect, it } from 'vitest'
import { fetchSchedules } from '../../../src/jobs/schedules.ts'
import { describeJobs } from '../../jobs/rig.ts'

const ACCOUNTS = 500

describeJobs('the schedules of a club', (rig) => {
  it('are all found again, however many pages they fill, and none is run a second time for it', async () => {
    const ids = Array.from({ length: ACCOUNTS }, (_, index) => index + 1)
    const jobs = await rig().open({ roles: { scheduler: true, worker: false }, accounts: async () => ids })
    const polls = jobs.boards().find(({ name }) => name === 'polls')
    if (!polls) throw new Error('no queue of polls')
    // Five an account, and the sweep.
    expect((await fetchSchedules(polls)).size).toBe(5 * ACCOUNTS + 1)
    const before = await jobs.counts()
    rig().lines.length = 0
    await jobs.openSchedules({ atStart: false })
    expect(await jobs.counts()).toEqual(before)
    expect(rig().lines.filter(({ msg }) => msg.includes('brought up to date'))).toEqual([])
  })
})
