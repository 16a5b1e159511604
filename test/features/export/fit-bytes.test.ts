import { afterAll, beforeAll, expect, it } from 'vitest'
import { exportActivity } from '../../../src/features/export/export-activity.ts'
import { makeRichFit } from '../../core/fit/make-rich-fit.ts'
import { openUploadRig, type UploadRig } from '../../core/upload/rig.ts'

const rich = makeRichFit()

let rig: UploadRig
beforeAll(async () => {
  rig = await openUploadRig({ env: { MUSETTE_KNOWN_RIDES: 'send' } })
})
afterAll(() => rig.close())

async function exportFit(path: string): Promise<{ bytes: Buffer; why: string | undefined }> {
  const pieces: Uint8Array[] = []
  const write = async (piece: string | Uint8Array) => {
    pieces.push(Buffer.from(piece))
  }
  const { signal } = new AbortController()
  const why = await exportActivity(rig.app, { name: rig.account.name, path, format: 'fit', write, signal })
  return { bytes: Buffer.concat(pieces), why }
}

it('the FIT file of an activity is exported byte by byte, or names the command when the bytes are missing', async () => {
  await rig.importFile('rich.fit', rich)
  await rig.fetchWanted()
  const [{ activity_path: path } = {}] = await rig.rows('select activity_path from training.uploads')
  const { bytes, why } = await exportFit(String(path))
  expect(why).toBeUndefined()
  expect(bytes.equals(rich)).toBe(true)
  await rig.rows('delete from training.fit_originals returning 1')
  expect(await exportFit(String(path))).toMatchObject({
    why: expect.stringContaining('musette upload FILE'),
  })
})
