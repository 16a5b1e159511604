import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { contentIdOf } from '../../../src/core/fit/read-fit.ts'
import type { ImportOutcome } from '../../../src/core/upload/import-file.ts'
import { DAY, HOUR, MINUTE } from '../../../src/kit/time.ts'
import { makeRide } from '../../kit/ride.ts'
import { makeZip } from '../fit/make-zip.ts'
import { useUploadRig } from './rig.ts'

const rig = useUploadRig()

const ride = makeRide()
const damage = (bytes: Uint8Array, at: number) =>
  Buffer.from(bytes).map((byte, place) => (place === at ? byte ^ 0xff : byte))
const ago = (ms: number) => new Date(rig.deps.now().getTime() - ms)
const textOf = (outcome: ImportOutcome) => (outcome.action === 'failed' ? outcome.text : '')

const zip = makeZip([{ name: 'ride.fit', bytes: ride, method: 0 }])
const DAMAGED: Array<[string, string, Uint8Array]> = [
  ['with a wrong checksum', 'ride.fit', damage(ride, 700)],
  ['cut', 'ride.fit', ride.subarray(0, 700)],
  ['empty', 'ride.fit', new Uint8Array()],
  ['of zeros', 'ride.fit', new Uint8Array(5_000)],
  ['packed and cut', 'ride.fit.gz', gzipSync(ride).subarray(0, 300)],
  ['packed and damaged', 'ride.fit.gz', damage(gzipSync(ride), 200)],
  ['in a cut archive', 'rides.zip', zip.subarray(0, zip.length - 10)],
  ['in a damaged archive', 'rides.zip', damage(zip, 2)],
]

const REASON = /^(?:incomplete: |the file is empty$)/

describe.each(DAMAGED)('a file %s', (_, name, bytes) => {
  it('waits for an hour with its reason, then is refused with a ledger row', async () => {
    const waiting = await rig.importFile(name, bytes, { restingSince: ago(59 * MINUTE) })
    expect(waiting).toMatchObject({ action: 'wait', reason: expect.stringMatching(REASON) })
    expect(waiting.action === 'wait' && waiting.dueAt?.getTime()).toBeGreaterThan(rig.deps.now().getTime())
    expect(await rig.rows('select 1 from training.uploads')).toEqual([])
    const outcome = await rig.importFile(name, bytes, { restingSince: ago(HOUR) })
    expect(textOf(outcome)).toMatch(new RegExp(`${name}: not uploaded: (?:incomplete: |the file is empty)`))
    expect(textOf(outcome)).toContain('Put a whole copy of the file into the drop folder')
    expect(textOf(outcome)).not.toContain('--force')
    const rows = await rig.rows('select content_id, file_name, state, attempts, reason from training.uploads')
    const row = { content_id: await contentIdOf([bytes]), file_name: name, state: 'refused', attempts: 0 }
    expect(rows).toEqual([{ ...row, reason: expect.stringMatching(REASON) }])
    expect(await rig.counts()).toEqual({ accepted: 0, refused: 0 })
  })
})

describe('an incomplete file', () => {
  const cut = ride.subarray(0, 700)

  it('is refused after a minute at rest if its last change was a day ago', async () => {
    const actionAfter = async (ms: number) =>
      (await rig.importFile('ride.fit', cut, { changedAt: ago(DAY), restingSince: ago(ms) })).action
    expect([await actionAfter(MINUTE / 2), await actionAfter(MINUTE)]).toEqual(['wait', 'failed'])
  })

  it('inside an archive does not stop the other files', async () => {
    const other = makeRide({ seed: 2, start: '2026-05-04T08:00:00Z' })
    const good = makeZip([
      { name: 'one.fit', bytes: ride },
      { name: 'two.fit.gz', bytes: damage(gzipSync(other), 100) },
    ])
    const reason = expect.stringContaining('two.fit')
    expect(await rig.importFile('rides.zip', good)).toMatchObject({ action: 'wait', reason })
    expect(await rig.uploaded()).toEqual([])
    const text = textOf(await rig.importFile('rides.zip', good, { restingSince: ago(HOUR) }))
    expect(text).toMatch(/^one\.fit: uploaded: activity /m)
    expect(text).toMatch(/^rides\.zip: not uploaded: incomplete: two\.fit/m)
    expect(await rig.uploaded()).toHaveLength(1)
  })
})

describe('a whole ride with padding after its end', () => {
  it.each([
    ['a block of zeros', Buffer.alloc(4_096)],
    ['a line break', Buffer.from('\n')],
  ])('(%s) is sent without the padding after an hour at rest', async (_, padding) => {
    const padded = Buffer.concat([ride, padding])
    const importAfter = (ms: number) => rig.importFile('ride.fit', padded, { restingSince: ago(ms) })
    const reason = expect.stringContaining('the end of the FIT file')
    expect(await importAfter(59 * MINUTE)).toMatchObject({ action: 'wait', reason })
    expect(await importAfter(HOUR)).toEqual({ action: 'done' })
    expect(await rig.find(ride)).toMatchObject({ state: 'accepted', sizeBytes: ride.length })
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    expect(await rig.uploaded()).toHaveLength(1)
  })
})

describe('a whole ride followed by bytes that are not FIT', () => {
  const behind = Buffer.from('these 41 bytes are no FIT, but a text only')
  const longer = Buffer.concat([ride, behind])
  const problem = `${behind.length} bytes that are not FIT follow the end of the FIT file`
  const refusal = { kind: 'status', status: 400 }

  it('is sent unchanged at once, with a warning', async () => {
    expect(await rig.importFile('ride.fit', longer)).toEqual({ action: 'done' })
    const [row] = await rig.rows('select state, size_bytes::int, sent_content_id from training.uploads')
    expect(row).toEqual({ state: 'accepted', size_bytes: longer.length, sent_content_id: null })
    const [file] = await rig.rows('select problem, records, parts from training.fit_files')
    expect(file).toEqual({ problem, records: 60, parts: 1 })
    expect(rig.log.lines).toContainEqual(expect.objectContaining({ level: 'warn', reason: problem }))
  })

  it('is sent without those bytes after a refusal, and the shorter file is known', async () => {
    await rig.fault(refusal)
    expect(await rig.importFile('ride.fit', longer)).toEqual({ action: 'done' })
    const sent = { state: 'accepted', attempts: 2, sentContentId: await contentIdOf([ride]) }
    expect(await rig.find(longer)).toMatchObject({ ...sent, sizeBytes: longer.length })
    expect(await rig.importFile('ride.fit', longer)).toEqual({ action: 'done' })
    expect(await rig.importFile('copy.fit', ride)).toMatchObject({ action: 'failed' })
    expect(await rig.uploaded()).toHaveLength(1)
    await rig.fetchWanted()
    expect(await rig.find(longer)).toMatchObject({ state: 'mirrored' })
  })

  it('is not sent twice if the response is lost or the sender dies', async () => {
    await rig.fault(refusal)
    await rig.fault({ kind: 'lost-answer' })
    await rig.importFile('ride.fit', longer)
    expect(await rig.find(longer)).toMatchObject({ state: 'unconfirmed', attempts: 2 })
    expect(await rig.importFile('copy.fit', ride)).toMatchObject({ action: 'failed' })
    expect(await rig.find(longer)).toMatchObject({ state: 'accepted', attempts: 2 })
    await rig.rows(
      `update training.uploads set state = 'sending', activity_path = null, activity_id = null, next_try_at = now() returning 1`,
    )
    await rig.importFile('ride.fit', longer)
    expect(await rig.find(longer)).toMatchObject({ state: 'accepted', attempts: 2 })
    expect(await rig.uploaded()).toHaveLength(1)
  })
})
