import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRig, type Rig } from './rig.ts'

let rig: Rig
let path: string
beforeAll(async () => {
  rig = await openRig({ activities: 3, longestActivitySeconds: 600 })
  await rig.sync()
  path = String((await rig.sql`select path from training.activities order by 1 limit 1`)[0]?.path)
})
afterAll(() => rig.close())

/** Reads the row without its fetch state, and the number of its samples. */
async function content() {
  const [row] = await rig.rows(
    `select musette.content(a) as row, (select count(*)::int from training.samples s where s.activity_id = a.activity_id) as samples
     from training.activities a where path = $1`,
    [path],
  )
  return row as { row: object; samples: number }
}

const outcome = async () =>
  (
    await rig.sql`select detail_state, fetch_error, next_fetch_at is not null as again from training.activities where path = ${path}`
  )[0]

describe.each(['no-summary', 'empty-summary'])(
  'a success with %s for an activity that had values',
  (broken) => {
    it('changes nothing, is recorded as a failure with its reason, and is retried', async () => {
      const before = await content()
      await rig.edit(path, { broken })
      await rig.edit(path, { name: `Edited, ${broken}` })
      const counts = await rig.sync({ full: true })
      expect(counts).toMatchObject({
        failed: 1,
        reason: expect.stringContaining('that the service has sent before; the mirrored values stay'),
      })
      expect(await outcome()).toEqual({
        detail_state: 'failed',
        fetch_error: expect.stringMatching(
          /^activity \w+: the answer lacks (\d+) of its \1 values .*; the mirrored values stay, and musette fetches it again$/,
        ),
        again: true,
      })
      const resynced = await rig.resync({ paths: [path] })
      expect(resynced).toMatchObject({ marked: 1, failed: 1 })
      const unnamed = ({ row, samples }: Awaited<ReturnType<typeof content>>) => {
        return { row: { ...row, name: '', updated_at: '', summary_hash: '' }, samples }
      }
      expect(unnamed(await content())).toEqual(unnamed(before))
      await rig.edit(path, { broken: null })
      await rig.resync({ paths: [path] })
      expect(await outcome()).toEqual({ detail_state: 'mirrored', fetch_error: null, again: false })
    })
  },
)

describe('mirrored samples', () => {
  type Sample = Record<string, unknown>
  type Detail = { name: string; summary: Record<string, unknown>; session_data: Sample[] }
  const samples = async () =>
    rig.sql`select count(*)::int as count, count(power)::int as power from training.samples
       join training.activities using (activity_id) where path = ${path}`
  /** Answers the activity with a change of the sandbox's version, under a new name each time, and mirrors it. */
  const answer = async (name: string, change: (detail: Detail) => Partial<Detail>, failedBefore = 0) => {
    const { detail } = await rig.steer<{ detail: Detail }>('GET', `activities/${path}`)
    // The samples of a young activity would be awaited.
    await rig.sql`update training.activities set first_seen_at = '2020-01-01', started_at = '2020-01-01'`
    await rig.answer(`^/oauth/activity/${path}$`, { ...detail, name, ...change(detail) })
    await rig.sql`update training.activities set detail_state = 'failed', fetch_attempts = ${failedBefore}, next_fetch_at =
      now() where path = ${path}`
    const counts = await rig.sync()
    await rig.heal()
    return counts
  }
  const first = (count: number) => (detail: Detail) => ({ session_data: detail.session_data.slice(0, count) })
  const withoutPower = ({ session_data }: Detail) => ({
    session_data: session_data.map(({ power, ...sample }) => sample),
  })

  it.each<[string, (detail: Detail) => Partial<Detail>, RegExp]>([
    ['fewer', first(200), /lacks \d+ of its \d+ samples that/],
    ['no more', () => ({ session_data: null as never }), /lacks (\d+) of its \1 samples that/],
    ['without a field', withoutPower, /lacks the fields power of its samples that/],
  ])('stay if a response has %s, with the reason in the row', async (what, change, reason) => {
    const before = await samples()
    expect(await answer(`With ${what}`, change)).toMatchObject({ failed: 1 })
    expect(await outcome()).toEqual({
      detail_state: 'failed',
      fetch_error: expect.stringMatching(reason),
      again: true,
    })
    expect(await samples()).toEqual(before)
    expect(await answer('Whole', () => ({}))).toMatchObject({ failed: 0 })
    expect(await outcome()).toEqual({ detail_state: 'mirrored', fetch_error: null, again: false })
  })

  it('shrink if the service keeps sending fewer, but never to none', async () => {
    expect(await answer('None', () => ({ session_data: [] }), 7)).toMatchObject({ failed: 1 })
    expect(await answer('Without power', withoutPower, 7)).toMatchObject({ failed: 0 })
    expect(await samples()).toMatchObject([{ power: 0 }])
    expect(await answer('Whole', () => ({}))).toMatchObject({ failed: 0 })
  })
})

it('a list entry without name and type keeps the known name and type', async () => {
  const [other] = await rig.sql`select path from training.activities where path <> ${path}`
  const known = () =>
    rig.sql`select name, activity_type, description from training.activities where path = ${other?.path}`
  const [before] = await known()
  const { detail } = await rig.steer<{ detail: Record<string, unknown> }>('GET', `activities/${other?.path}`)
  const { name, description, ...rest } = detail
  await rig.answer(`^/oauth/activity/${other?.path}$`, rest)
  const entry = { path: other?.path, description: 'New', start_date: [] }
  await rig.answer('^/oauth/activity$', { success: true, activities: [entry] })
  await rig.sync()
  await rig.heal()
  expect(await known()).toEqual([{ ...before, description: 'New' }])
})
