import { describe, expect, it } from 'vitest'
import { TransientError } from '../../../src/kit/errors.ts'
import { makeRide } from '../../kit/ride.ts'
import { makeZip } from '../fit/make-zip.ts'
import { useUploadRig } from './rig.ts'

const rig = useUploadRig()

const ride = makeRide()
const picture = Buffer.from('not a ride but a picture, whatever it is called')
const textOf = async (name: string, bytes: Uint8Array) => {
  const outcome = await rig.importFile(name, bytes)
  if (outcome.action !== 'failed') throw new Error(`it is ${outcome.action}`)
  return outcome.text
}

it('a refused file is not sent, and is shown under each of its names', async () => {
  for (const name of ['one.fit', 'two.fit']) {
    const text = await textOf(name, picture)
    expect(text).toContain('only FIT activities')
    expect(text).not.toMatch(/--force|move the file back/i)
  }
  const reason = expect.stringContaining('FIT header')
  const journey = 'select file_name, state, reason from training.upload_journey order by file_name'
  expect(await rig.rows(journey)).toEqual(
    ['one.fit', 'two.fit'].map((file_name) => ({ file_name, state: 'refused', reason })),
  )
  expect(await rig.rows('select attempts, started_at from training.uploads')).toEqual([
    { attempts: 0, started_at: null },
  ])
  expect(await rig.counts()).toEqual({ accepted: 0, refused: 0 })
})

describe('an archive', () => {
  it('is handled file by file: encrypted files are named, the others sent', async () => {
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
    expect(text).toMatch(/^takeout\.zip: not uploaded: locked\.fit: it is encrypted with a password/m)
    expect(text).toMatch(/^ride\.fit: uploaded: /m)
    // Of many similar results, a person reads some and the number of the rest.
    expect(text.match(/it does not start with a FIT header/g)).toHaveLength(19)
    expect(text).toMatch(/^6 more like these$/m)
    expect(await rig.uploaded()).toHaveLength(2)
  })

  it('sends refused files once while others wait, and again once moved back', async () => {
    const starts = [1, 2, 3].map((day) => `2026-05-0${day}T08:00:00Z`)
    const rides = starts.map((start, seed) => makeRide({ start, seed: seed + 1 }))
    const zip = makeZip(rides.map((bytes, n) => ({ name: `${n}.fit`, bytes })))
    const restingSince = rig.deps.now()
    await rig.fault({ kind: 'status', status: 422, times: 1 })
    await rig.fault({ kind: 'status', status: 429, retry_after: 1, times: 3 })
    const importAgain = () => rig.importFile('rides.zip', zip, { restingSince })
    let outcome = await importAgain()
    for (let round = 0; round < 20 && outcome.action === 'wait'; round++) {
      rig.ahead(120_000)
      outcome = await importAgain()
    }
    expect(outcome).toMatchObject({ action: 'failed' })
    const sent = 'select file_name, state, attempts from training.uploads order by file_name'
    expect((await rig.rows(sent))[0]).toEqual({ file_name: '0.fit', state: 'refused', attempts: 1 })
    expect(await rig.uploaded()).toHaveLength(2)
    expect(await importAgain()).toMatchObject({ action: 'failed' })
    expect((await rig.rows(sent))[0]).toMatchObject({ state: 'refused', attempts: 1 })
    expect(await rig.importFile('rides.zip', zip)).toEqual({ action: 'done' })
    expect((await rig.rows(sent))[0]).toMatchObject({ state: 'accepted', attempts: 2 })
  })
})

it('a database outage is logged once for many files, and once at its end', async () => {
  const down = async (): Promise<never> => {
    throw new TransientError('database_unreachable', 'store: the disk is full')
  }
  const broken = { ...rig.deps, store: { ...rig.deps.store, read: down, transaction: down } }
  for (let i = 0; i < 20; i++) await rig.importFile(`ride-${i}.fit`, ride, { deps: broken })
  await rig.importFile('ride.fit', ride)
  const said = rig.log.lines.filter(({ msg }) => msg?.includes('the disk is full'))
  expect(said.map(({ level, msg, times }) => [level, msg, times])).toEqual([
    ['warn', 'uploads wait: store: the disk is full', undefined],
    ['info', 'over: uploads wait: store: the disk is full', 20],
  ])
})
