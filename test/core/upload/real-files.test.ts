import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { judgeFit } from '../../../src/core/fit/judge.ts'
import { pollActivities } from '../../../src/core/mirror/poll-activities.ts'
import { makeRide } from '../../kit/ride.ts'
import { sample } from '../../kit/sampling.ts'
import { openUploadRig, type UploadRig } from './rig.ts'

// Files of real devices lie beside a checkout, where somebody has put them; a ride of our own stands in for them elsewhere.
const folder = fileURLToPath(new URL('../../../../shared/fit', import.meta.url))
const names = existsSync(folder) ? (await readdir(folder)).filter((name) => /\.fit$/i.test(name)) : []
const files = new Map<string, Uint8Array>([
  ['made.fit', makeRide()],
  ['another.fit', makeRide({ seed: 2, start: '2026-05-04T08:00:00Z' })],
])
const all = new Map<string, Uint8Array>()
for (const name of names) all.set(name, await readFile(`${folder}/${name}`))
const isWhole = (name: string) => judgeFit(all.get(name) ?? new Uint8Array()).verdict === 'whole'
const some = sample(names.filter(isWhole), 3)
for (const [name, bytes] of all) if (some.includes(name) || !isWhole(name)) files.set(name, bytes)

let rig: UploadRig
beforeAll(async () => {
  rig = await openUploadRig()
})
afterAll(() => rig.close())

it.each([...files])('%s has the right result', async (name, bytes) => {
  const { verdict } = judgeFit(bytes)
  const outcome = await rig.importFile(name, bytes)
  expect(outcome.action).toBe({ whole: 'done', refused: 'failed', unready: 'wait' }[verdict])
  if (verdict !== 'whole') return
  await rig.fetchWanted()
  const [row] = await rig.rows(
    `select u.state, a.sample_count > 0 as samples, a.xss is not null as scored,
       abs(extract(epoch from a.started_at - u.started_at)) <= 120 as same_start
     from training.uploads u join training.activities a using (activity_id) where u.file_name = $1`,
    [name],
  )
  expect(row).toEqual({ state: 'mirrored', samples: true, scored: true, same_start: true })
})

const JOINED = `select u.file_name, a.path from training.uploads u join training.activities a using (activity_id) order by 1`

it('files of known rides are joined each to its own, and to none when the starts are exchanged', async () => {
  const whole = [...files].filter(([, bytes]) => judgeFit(bytes).verdict === 'whole')
  const importAll = async () => {
    await rig.rows('truncate training.uploads cascade')
    for (const [name, bytes] of whole) await rig.importFile(name, bytes)
    return rig.rows(JOINED)
  }
  const own = await rig.rows(JOINED)
  await pollActivities(rig.app.mirror, { account: rig.account })
  expect(await importAll()).toEqual(own)
  expect(await rig.rows(`select distinct state from training.uploads`)).toEqual([{ state: 'attached' }])
  // Each activity begins when the next one did.
  await rig.rows(
    `with moved as (select activity_id, lead(started_at, 1, (select min(started_at) from training.activities)) over (order by started_at) - started_at as by
       from training.activities), m as (update training.samples s set t = t + by from moved where moved.activity_id = s.activity_id)
     update training.activities a set started_at = started_at + by from moved where moved.activity_id = a.activity_id returning 1`,
  )
  expect(await importAll()).toEqual([])
})
