import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/kit/time.ts'
import { scanNamed } from '../../../src/program/app/files/named-files.ts'
import { type HandUpload, uploadByHand } from '../../../src/program/app/files/upload-files.ts'
import { makeRide } from '../../kit/ride.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { makeRecordedFit } from '../fit/make-recorded-fit.ts'
import { useUploadRig } from './rig.ts'

const rig = useUploadRig({ env: { MUSETTE_KNOWN_RIDES: 'send' } })

/** How long ago the records ended, the file changed and came to rest, ms; then how long the file still waits. */
const FILES: Array<[what: string, times: { ended: number; changed: number; rests: number }, waits: number]> =
  [
    ['that a recorder saved just now', { ended: 1_000, changed: 1_000, rests: 0 }, 2 * MINUTE - SECOND],
    ['whose clock is ahead', { ended: -HOUR, changed: 0, rests: 0 }, 2 * MINUTE],
    ['that rested for two minutes', { ended: 2 * MINUTE, changed: 2 * MINUTE, rests: 2 * MINUTE }, 0],
    ['that was copied with its old time', { ended: DAY, changed: DAY, rests: 0 }, 0],
    ['that was copied without its time', { ended: HOUR, changed: 0, rests: 0 }, 0],
  ]

it.each(FILES)('a whole file %s waits as long as its last change requires', async (_, times, waits) => {
  const now = rig.deps.now().getTime()
  const start = new Date(now - times.ended - 59 * SECOND).toISOString()
  const more = { restingSince: new Date(now - times.rests), changedAt: new Date(now - times.changed) }
  const deps = { ...rig.deps, now: () => new Date(now) }
  const ride = makeRide({ start })
  const outcome = await rig.importFile('ride.fit', ride, { ...more, deps })
  expect(outcome.action).toBe(waits > 0 ? 'wait' : 'done')
  if (outcome.action !== 'wait') return
  expect(outcome).toMatchObject({ code: 'settling', reason: expect.stringContaining('just being recorded') })
  const waitsMs = (outcome.dueAt?.getTime() ?? 0) - now
  // A FIT file has whole seconds.
  expect(Math.abs(waitsMs - waits)).toBeLessThanOrEqual(SECOND)
  expect(await rig.rows('select 1 from training.uploads')).toEqual([])
  const later = { ...deps, now: () => outcome.dueAt as Date }
  expect(await rig.importFile('ride.fit', ride, { ...more, deps: later })).toEqual({ action: 'done' })
})

describe('a longer version of a sent ride', () => {
  const [short, longer] = [makeRecordedFit({ seconds: 20 }), makeRecordedFit({ seconds: 40 })]
  const reason = expect.stringMatching(
    /^it is a longer version \(40 records\) of the ride that was sent as "qz\.fit" \(20 records, activity .*musette upload --force FILE/,
  )

  it('waits under any name until a person sends it', async () => {
    expect(await rig.importFile('qz.fit', short)).toEqual({ action: 'done' })
    for (const name of ['qz.fit', 'copy.fit'])
      expect(await rig.importFile(name, longer)).toEqual({ action: 'wait', code: 'other_version', reason })
    expect(await rig.uploaded()).toHaveLength(1)
    await rig.force('qz.fit', longer)
    expect(await rig.importFile('qz.fit', longer)).toEqual({ action: 'done' })
    expect(await rig.uploaded()).toHaveLength(2)
  })

  it.each([
    ['of another device', 'update training.fit_files set serial_number = 7 returning 1'],
    [
      'with other records',
      'update training.fit_records set power = power + 1 where position = 3 returning 1',
    ],
    ['of another start', "update training.uploads set started_at = '2026-05-02T07:00:01Z' returning 1"],
    ['of one that was refused', "update training.uploads set state = 'refused' returning 1"],
  ])('is not assumed for a file %s, which is sent', async (_, sql) => {
    await rig.importFile('qz.fit', short)
    expect(await rig.rows(sql)).toHaveLength(1)
    expect(await rig.importFile('ride.fit', longer)).toEqual({ action: 'done' })
  })
})

it('a file uploaded by hand does not wait for rest; its writer is named', async () => {
  const temp = await openTempDir('by-hand')
  const path = join(temp.path, 'ride.fit')
  const bytes = makeRide({ start: new Date(Date.now() - MINUTE).toISOString() })
  await writeFile(path, bytes)
  const file = await open(path, 'a')
  try {
    const said: string[] = []
    const input = { account: 'default', force: false, signal: new AbortController().signal }
    const onOpen = (_file: string, program: string) => said.push(program)
    const ends: HandUpload[] = []
    const onEnd = (end: HandUpload) => ends.push(end)
    const files = await scanNamed([path])
    await uploadByHand(rig.app, { ...input, files, onEnd, onWait: () => undefined, onOpen })
    expect(ends).toMatchObject([{ file: path, upload: { state: 'accepted' } }])
    expect(said).toEqual([expect.stringContaining(`(process ${process.pid})`)])
  } finally {
    await file.close()
    await temp.close()
  }
})
