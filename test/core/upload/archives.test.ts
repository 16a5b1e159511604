import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { contentIdOf } from '../../../src/core/fit/read-fit.ts'
import { makeRide } from '../../kit/ride.ts'
import { makeZip } from '../fit/make-zip.ts'
import { type UploadRig, useUploadRig } from './rig.ts'

let rig: UploadRig
useUploadRig((opened) => {
  rig = opened
})

const ride = makeRide()

describe('what is dropped', () => {
  it('as .fit.gz is the same content as the FIT file in it', async () => {
    expect(await rig.importFile('Ride.FIT.gz', gzipSync(ride))).toEqual({ action: 'done' })
    const [row] = await rig.rows('select content_id, file_name, size_bytes::int from training.uploads')
    expect(row).toMatchObject({ content_id: await contentIdOf([ride]), size_bytes: ride.length })
    expect(await rig.importFile('other.fit', ride)).toMatchObject({ action: 'failed' })
    expect(await rig.uploaded()).toHaveLength(1)
  })

  it('as .zip is every FIT file in it, with refused and uploaded ones reported', async () => {
    const other = makeRide({ seed: 2, start: '2026-05-04T08:00:00Z' })
    const cut = ride.subarray(0, 400)
    const zip = makeZip([
      { name: 'a/ride.fit', bytes: ride },
      { name: 'other.fit', bytes: other },
      { name: 'cut.fit', bytes: cut },
    ])
    const outcome = await rig.importFile('rides.zip', zip)
    expect(outcome).toMatchObject({ action: 'failed' })
    const text = outcome.action === 'failed' ? outcome.text : ''
    expect(text).toMatch(/^ride\.fit: uploaded: activity /m)
    expect(text).toMatch(/^other\.fit: uploaded: activity /m)
    expect(text).toMatch(/^cut\.fit: not uploaded: .*not whole/m)
    expect(await rig.uploaded()).toHaveLength(2)
    await rig.importFile('rides.zip', zip)
    expect(await rig.uploaded()).toHaveLength(2)
  })

  it('as .zip is handled file by file: encrypted ones are named, and the others sent', async () => {
    const inner = makeZip([
      { name: 'inner.fit', bytes: makeRide({ seed: 2, start: '2026-05-04T08:00:00Z' }) },
      { name: 'locked.fit', bytes: ride, encrypted: true },
    ])
    const letters = Array.from({ length: 25 }, (_, n) => ({
      name: `${n}.fit`,
      bytes: Buffer.from(`letter number ${n}`),
    }))
    const members = [{ name: 'part1.zip', bytes: inner }, { name: 'ride.fit', bytes: ride }, ...letters]
    const outcome = await rig.importFile('takeout.zip', makeZip(members))
    const text = outcome.action === 'failed' ? outcome.text : ''
    expect(text).toMatch(/^takeout\.zip: not uploaded: locked\.fit: it is locked with a password/m)
    expect(text).toMatch(/^ride\.fit: uploaded: /m)
    // Of many alike a person reads some, and the number of the others.
    expect(text.match(/it does not start with a FIT header/g)).toHaveLength(19)
    expect(text).toMatch(/^6 more like these$/m)
    expect(await rig.uploaded()).toHaveLength(2)
  })

  it('and is still being written waits, and the ledger does not know it', async () => {
    expect(await rig.importFile('ride.fit', ride.subarray(0, 500))).toMatchObject({ action: 'wait' })
    expect(await rig.importFile('ride.fit.gz', gzipSync(ride).subarray(0, 200))).toMatchObject({
      action: 'wait',
      reason: expect.stringContaining('not whole'),
    })
    expect(await rig.rows('select 1 from training.uploads')).toEqual([])
    expect(rig.log.lines.filter(({ level }) => level !== 'debug' && level !== 'trace')).toEqual([])
  })

  it('and is not a FIT file is refused with the reason, in SQL and in a text file, and not sent', async () => {
    const text = Buffer.from('this is a letter, not a ride, whatever its name says')
    expect(await rig.importFile('letter.fit', text)).toMatchObject({ action: 'failed' })
    const [row] = await rig.rows('select state, attempts, reason, started_at from training.uploads')
    expect(row).toMatchObject({ state: 'refused', attempts: 0, started_at: null })
    expect(row?.reason).toMatch(/FIT/)
    expect(await rig.importFile('letter.fit', text)).toMatchObject({ action: 'failed' })
    expect(await rig.counts()).toEqual({ accepted: 0, refused: 0 })
  })
})
