import { expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { describeJobs } from './rig.ts'

describeJobs('fetches', (rig) => {
  it('take turns between accounts, also when one has many before the other has any', async () => {
    const producer = await rig().open({ roles: { scheduler: false, worker: false } })
    const rides = (accountId: number, activityIds: number[]) =>
      producer.enqueue(
        'fetch-activity',
        activityIds.map((activityId) => ({ accountId, activityId })),
      )
    await rides(1, [11, 12, 13, 14, 15])
    await rides(2, [21, 22, 23])
    const done: number[] = []
    await rig().open({ fetch: async (id) => void done.push(id), concurrency: 1 })
    await eventually(() => done.length === 8, { what: 'all are done' })
    expect(done).toEqual([11, 21, 12, 22, 13, 23, 14, 15])
  })
})
