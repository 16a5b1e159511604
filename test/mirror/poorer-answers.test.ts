import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resyncAccount, syncAccount } from '../../src/app/sync-account.ts'
import { openRig, type Rig } from './rig.ts'

let rig: Rig
let path: string
beforeAll(async () => {
  rig = await openRig({ activities: 3, longestActivitySeconds: 600 })
  await syncAccount(rig.app, { name: 'default' })
  path = String((await rig.rows('select path from training.activities order by 1 limit 1'))[0]?.path)
})
afterAll(() => rig.close())

/** The row without what serves fetching, and the number of its samples. */
async function content(): Promise<unknown> {
  const [row] = await rig.rows(
    `select musette.content(a) as row, (select count(*)::int from training.samples s where s.activity_id = a.activity_id) as samples
     from training.activities a where path = $1`,
    [path],
  )
  return row
}

const outcome = async () =>
  (
    await rig.rows(
      'select detail_state, fetch_error, next_fetch_at is not null as again from training.activities where path = $1',
      [path],
    )
  )[0]

describe.each(['no-summary', 'empty-summary'])(
  'a success with %s for an activity that had values',
  (broken) => {
    it('changes none of them, is a failure with its reason, and is asked for again', async () => {
      const before = await content()
      await rig.steer('PATCH', `activities/${path}`, { broken })
      await rig.steer('PATCH', `activities/${path}`, { name: `Edited, ${broken}` })
      const counts = await syncAccount(rig.app, { name: 'default', full: true })
      expect(counts).toMatchObject({
        failed: 1,
        reason: expect.stringContaining('none of the values that the service has sent before'),
      })
      expect(await outcome()).toEqual({
        detail_state: 'failed',
        fetch_error: `activity ${path}: the answer has none of the values that the service has sent before; they stay, and it is asked for again`,
        again: true,
      })
      const resynced = await resyncAccount(rig.app, { name: 'default', choice: { paths: [path] } })
      expect(resynced).toMatchObject({ marked: 1, failed: 1 })
      const [after, was] = [await content(), before] as Array<{
        row: Record<string, unknown>
        samples: number
      }>
      expect({ ...after?.row, name: '', updated_at: '', summary_hash: '' }).toEqual({
        ...was?.row,
        name: '',
        updated_at: '',
        summary_hash: '',
      })
      expect(after?.samples).toBe(was?.samples)
      await rig.steer('PATCH', `activities/${path}`, { broken: null })
      await resyncAccount(rig.app, { name: 'default', choice: { paths: [path] } })
      expect(await outcome()).toEqual({ detail_state: 'mirrored', fetch_error: null, again: false })
    })
  },
)

it('a single value that a full summary no longer has becomes NULL, with a revision', async () => {
  await rig.steer('PATCH', `activities/${path}`, { summary: { xss: null } })
  await syncAccount(rig.app, { name: 'default' })
  expect(
    await rig.rows('select xss, distance is not null as others from training.activities where path = $1', [
      path,
    ]),
  ).toEqual([{ xss: null, others: true }])
  const [revision] = await rig.rows(
    `select changes #> '{xss,1}' as xss from training.activity_revisions join training.activities using (activity_id)
     where path = $1 order by observed_at desc limit 1`,
    [path],
  )
  expect(revision).toEqual({ xss: null })
})

it('an activity that never had a summary stays as it is, and is no failure', async () => {
  await rig.steer('POST', 'activities', { path: 'bare', seconds: 60 })
  await rig.steer('PATCH', 'activities/bare', { broken: 'empty-summary' })
  expect(await syncAccount(rig.app, { name: 'default' })).toMatchObject({ failed: 0 })
  expect(await rig.rows(`select detail_state, xss from training.activities where path = 'bare'`)).toEqual([
    { detail_state: 'mirrored', xss: null },
  ])
})
