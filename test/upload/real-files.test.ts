import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { judgeFit } from '../../src/fit/judge.ts'
import { makeRide } from '../kit/ride.ts'
import { openUploadRig, type UploadRig } from './rig.ts'

// Files of real devices lie beside a checkout, where somebody has put them; a ride of our own stands in for them elsewhere.
const folder = fileURLToPath(new URL('../../../shared/fit', import.meta.url))
const names = existsSync(folder) ? (await readdir(folder)).filter((name) => /\.fit$/i.test(name)) : []
const files = new Map<string, Uint8Array>([['made.fit', makeRide()]])
for (const name of names) files.set(name, await readFile(`${folder}/${name}`))

let rig: UploadRig
beforeAll(async () => {
  rig = await openUploadRig()
})
afterAll(() => rig.close())

it.each([...files])('%s comes to the end that its bytes call for', async (name, bytes) => {
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
