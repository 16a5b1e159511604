import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { DROP_LIMITS, type DroppedFit, type Fault, UnpackError } from '../../../src/core/fit/archive.ts'
import { isDroppable } from '../../../src/core/fit/fit-names.ts'
import { unpackDropped } from '../../../src/core/fit/unpack.ts'
import { makeFitFile } from '../../../src/sandbox/fit-file.ts'
import { sourceOf } from '../../kit/byte-source.ts'
import { makeZip } from './make-zip.ts'

const ride = Buffer.from(makeFitFile({ startedAt: new Date('2026-03-11T16:00:00Z'), seconds: 60 }))
const other = Buffer.from(makeFitFile({ startedAt: new Date('2026-03-12T16:00:00Z'), seconds: 60 }))
const zeros = Buffer.alloc(8 * 1_024 * 1_024)

/** Unpacks and reads everything twice, as the upload does. Each file returns its bytes or its own fault. */
const unpackEach = async (name: string, bytes: Uint8Array, limits = DROP_LIMITS) => {
  const unpacked = await unpackDropped(name, sourceOf(bytes), limits)
  if (unpacked.verdict !== 'files') return unpacked
  const read = async (open: DroppedFit['open']) => {
    const chunks: Uint8Array[] = []
    try {
      for await (const chunk of open()) chunks.push(chunk)
    } catch (error) {
      if (error instanceof UnpackError) return error.fault
      throw error
    }
    return Buffer.concat(chunks)
  }
  const files: Array<{ name: string; bytes: Buffer | Fault }> = []
  for (const { name: inner, open } of unpacked.files) files.push({ name: inner, bytes: await read(open) })
  for (const [index, { open }] of unpacked.files.entries())
    expect(await read(open)).toEqual(files[index]?.bytes)
  return { verdict: 'files' as const, files }
}
/** The result of each file: `ride` or `other` for those bytes, the code of its fault, or `judged` for any other bytes. */
const endsOf = async (name: string, bytes: Uint8Array) => {
  const unpacked = await unpackEach(name, bytes)
  if (unpacked.verdict !== 'files') return unpacked.code
  return unpacked.files.map(({ name: inner, bytes: content }) => {
    if (!Buffer.isBuffer(content)) return `${inner} ${content.code}`
    return `${inner} ${content.equals(ride) ? 'ride' : content.equals(other) ? 'other' : 'judged'}`
  })
}
/** The first fault of a file in the archive, or the fault of the archive. */
const codeOf = async (name: string, bytes: Uint8Array, limits = DROP_LIMITS) => {
  const unpacked = await unpackEach(name, bytes, limits)
  const contents = unpacked.verdict === 'files' ? unpacked.files.map((file) => file.bytes) : [unpacked]
  const fault = contents.find((each): each is Fault => !Buffer.isBuffer(each))
  return fault ? `${fault.verdict} ${fault.code}` : 'files'
}

describe('dropped files', () => {
  it('a dropped file is accepted by its ending, in upper or lower case', () => {
    const names = ['a.fit', 'a.FIT', 'a.Fit.GZ', 'a.zip', 'a.ZIP', 'a.fit~']
    const others = ['a.gz', 'a.tcx', 'fit', 'a.fit.txt', 'a.fit.part']
    expect([...others, ...names].filter(isDroppable)).toEqual(names)
  })
})

it.each([
  ['a.fit.gz', gzipSync(ride), 97],
  ['a.zip', makeZip([{ name: 'one.fit', bytes: ride }]), 211],
])('%s waits while it is being written', async (name, packed, step) => {
  for (let size = 1; size < packed.length; size += step)
    expect(await codeOf(name, packed.subarray(0, size))).toMatch(/^unready /)
  expect(await codeOf(name, Buffer.from(packed).fill(0, 100, 400))).toMatch(/^unready /)
  expect(await codeOf(name, Buffer.concat([packed.subarray(0, 300), Buffer.alloc(500)]))).toMatch(/^unready /)
})

describe('zip archives', () => {
  it('each file in an archive gets a clean, unique base name', async () => {
    const paths = ['../../etc/cron.d/x.fit', '/abs/x.fit', 'C:\\rides\\x.fit']
    const [long, cut] = [300, 100].map((length) => `${'ü'.repeat(length)}.fit`)
    const names = [...paths, 'a/\u0007b:c\u202e.fit', '...fit', 'ü/Fahrt ☀.fit', String(long)]
    const zip = makeZip(names.map((name) => ({ name, bytes: ride })))
    const cleaned = ['x.fit', 'x (2).fit', 'x (3).fit', 'b-c.fit', 'Fahrt ☀.fit', cut]
    expect(await endsOf('a.zip', zip)).toEqual(cleaned.map((name) => `${name} ride`))
  })

  it('an archive of too many files is refused without reading them', async () => {
    const zip = makeZip(Array.from({ length: 30 }, (_, n) => ({ name: `${n}.jpg`, bytes: ride, method: 0 })))
    const source = sourceOf(zip)
    let opened = 0
    const open: typeof source.open = (range) => {
      opened += 1
      return source.open(range)
    }
    const unpacked = await unpackDropped('a.zip', { ...source, open }, { ...DROP_LIMITS, entries: 29 })
    expect(unpacked).toMatchObject({ verdict: 'refused', code: 'too_many_entries' })
    // It reads only the first bytes and the directory at the end.
    expect(opened).toBe(2)
  })

  it('an archive is refused if its files are too large in total', async () => {
    const zip = makeZip([1, 2, 3].map((n) => ({ name: `${n}.fit`, bytes: ride })))
    const codeWithin = (totalBytes: number) => codeOf('a.zip', zip, { ...DROP_LIMITS, totalBytes })
    expect(await codeWithin(ride.length * 3)).toBe('files')
    expect(await codeWithin(ride.length * 3 - 1)).toBe('refused too_large')
  })
})

it('an archive is refused if it is a zip bomb, whatever its header says', async () => {
  const gzipped = gzipSync(zeros)
  const lying = makeZip([{ name: 'a.fit', bytes: zeros, claimedSize: 1_000 }])
  expect(await codeOf('a.fit.gz', gzipped)).toBe('refused too_large')
  expect(await codeOf('a.zip', makeZip([{ name: 'a.fit', bytes: zeros }]))).toBe('refused too_large')
  expect(await codeOf('a.zip', makeZip([{ name: 'a.fit.gz', bytes: gzipped }]))).toBe('refused too_large')
  expect(await codeOf('a.zip', lying)).not.toBe('files')
})

describe('FIT files in archives', () => {
  const inner = makeZip([
    { name: 'one.fit', bytes: ride },
    { name: 'x/two.fit.gz', bytes: gzipSync(other) },
    { name: 'locked.fit', bytes: ride, encrypted: true },
  ])
  const innermost = makeZip([{ name: 'again.zip', bytes: inner }])
  const bomb = { name: 'bomb.fit', bytes: zeros }
  const text = Buffer.from('this is a letter')
  const CASES: Array<[what: string, name: string, bytes: Uint8Array, ends: string[] | string]> = [
    ['not compressed', 'Ride.FIT', ride, ['Ride.fit ride']],
    ['gzipped', 'Ride.FIT.gz', gzipSync(ride), ['Ride.fit ride']],
    ['gzipped but named .fit', 'a.fit', gzipSync(ride), ['a.fit ride']],
    ['in a zip named .fit', 'a.fit', makeZip([{ name: 'b.fit', bytes: ride }]), ['b.fit ride']],
    ['not compressed but named .gz', 'a.fit.gz', ride, ['a.fit ride']],
    ['not compressed but named .zip', 'a.zip', ride, ['a.zip.fit ride']],
    ['in a zip named .fit.gz', 'a.fit.gz', makeZip([{ name: 'b.fit', bytes: ride }]), ['b.fit ride']],
    ['that is an editor backup', 'a.fit~', ride, ['a.fit ride']],
    ['that is a text', 'a.zip', text, 'not_archive'],
    ['missing in an empty zip', 'a.zip', makeZip([]), 'no_fit_inside'],
    ['missing in a zip of other files', 'a.zip', makeZip([{ name: 'a.tcx', bytes: ride }]), 'no_fit_inside'],
    [
      'beside other files',
      'export.zip',
      makeZip([
        { name: 'rides/one.FIT', bytes: ride },
        { name: 'rides/two.fit', bytes: other, method: 0 },
        { name: 'rides/', bytes: Buffer.alloc(0) },
        { name: 'activities.csv', bytes: Buffer.from('a,b') },
        { name: '__MACOSX/rides/._one.FIT', bytes: Buffer.from('fork') },
        { name: 'link.fit', bytes: Buffer.from('/etc/passwd'), unixMode: 0o120777 },
      ]),
      ['one.fit ride', 'two.fit other'],
    ],
    [
      'in archives inside an archive',
      'takeout.zip',
      makeZip([
        { name: 'part1.ZIP', bytes: inner },
        { name: 'ride.fit', bytes: other },
        { name: 'part2.zip', bytes: inner, method: 0 },
        { name: 'empty.zip', bytes: makeZip([]) },
      ]),
      [
        ...['one.fit ride', 'two.fit other', 'locked.fit encrypted', 'ride.fit other'],
        ...['one (2).fit ride', 'two (2).fit other', 'locked (2).fit encrypted'],
      ],
    ],
    [
      'beside unreadable files',
      'a.zip',
      makeZip([
        { name: 'one.fit', bytes: ride },
        { name: 'strange.fit', bytes: ride, method: 93 },
        bomb,
        { name: 'wrong.fit.gz', bytes: other },
        { name: 'packed.fit', bytes: gzipSync(other) },
        { name: 'cut.zip', bytes: inner.subarray(0, inner.length - 9) },
        { name: 'letter.zip', bytes: text },
        { name: 'deep.zip', bytes: innermost },
        { name: 'rides.7z', bytes: text },
        { name: 'bombs.zip', bytes: makeZip([bomb]) },
        { name: 'two.fit', bytes: other, method: 0 },
      ]),
      [
        ...['one.fit ride', 'strange.fit unknown_compression', 'bomb.fit too_large', 'wrong.fit other'],
        ...['packed.fit other', 'cut.zip.fit incomplete', 'letter.zip.fit incomplete'],
        ...['again.zip.fit archive_inside', 'rides.7z.fit archive_inside', 'bomb (2).fit too_large'],
        'two.fit other',
      ],
    ],
  ]

  it.each(CASES)('each dropped FIT file has its own result: %s', async (_, name, bytes, ends) => {
    expect(await endsOf(name, bytes)).toEqual(ends)
  })
})
