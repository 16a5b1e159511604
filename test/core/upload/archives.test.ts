import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { contentIdOf } from '../../../src/core/fit/read-fit.ts'
import { makeRide } from '../../kit/ride.ts'
import { makeZip } from '../fit/make-zip.ts'
import { useUploadRig } from './rig.ts'

const rig = useUploadRig()

const ride = makeRide()

describe('what is dropped', () => {
  it('as .fit.gz is the same content as the FIT file in it', async () => {
    expect(await rig.importFile('Ride.FIT.gz', gzipSync(ride))).toEqual({ action: 'done' })
    const [row] = await rig.rows('select content_id, file_name, size_bytes::int from training.uploads')
    expect(row).toMatchObject({ content_id: await contentIdOf([ride]), size_bytes: ride.length })
    expect(await rig.importFile('other.fit', ride)).toMatchObject({ action: 'failed' })
    expect(await rig.uploaded()).toHaveLength(1)
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
})
