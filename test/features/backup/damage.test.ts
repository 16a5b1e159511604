import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PART_BYTES } from '../../../src/features/backup/archive/manifest.ts'
import { ARCHIVE_END, type Entry, makeEntry, readEntries } from '../../../src/features/backup/archive/tar.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { sample } from '../../kit/sampling.ts'
import { backUpToMemory, contentOf, fill, restoreInto } from './rig.ts'

const BLOCK = 512
/** Where the header of an entry has its size, in octal digits, and the sum of its bytes. */
const SIZE = { at: 124, digits: 11 }
const SUM = { at: 148, digits: 6 }
/** So many of the names and numbers of a manifest are damaged where not every case is tried. */
const SOME = 60
/** Enough samples for three parts. */
const MANY_SAMPLES = 150_000
const FIRST = 'training.samples/000001.copy.gz'
const SECOND = 'training.samples/000002.copy.gz'
const LAST = 'training.samples/000003.copy.gz'
const OTHER = 'training.accounts/000001.copy.gz'

let small: Buffer
let large: Buffer
let target: TestDatabase
let before: Record<string, unknown>
beforeAll(async () => {
  const source = await openTestDatabase()
  await fill(source.url, 1)
  small = await backUpToMemory(source.url)
  await queryOnce(
    source.url,
    `insert into training.samples (activity_id, t, power)
       select 1, '2024-06-01'::timestamptz + s * interval '1 s', s % 300 from generate_series(1, ${MANY_SAMPLES}) s`,
  )
  large = await backUpToMemory(source.url)
  await source.close()
  target = await openTestDatabase()
  before = await contentOf(target.url)
})
afterAll(() => target.close())

async function expectDamaged(archive: Buffer, what: string): Promise<void> {
  const refused = await restoreInto(target.url, archive).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(refused, what).toMatchObject({
    name: 'MusetteError',
    code: 'backup_damaged',
    message: expect.stringMatching(/^the backup is damaged \(.+\); nothing is restored; use another backup$/),
  })
}

/** Writes the entries of an archive as `change` leaves them; the checksums stay as they are. */
async function rewrite(archive: Buffer, change: (entries: Entry[]) => Entry[]): Promise<Buffer> {
  const entries: Entry[] = []
  for await (const entry of readEntries(Readable.from([archive]))) entries.push(entry)
  return Buffer.concat([...change(entries).map((entry) => makeEntry(entry, 0)), ARCHIVE_END])
}

const find = (entries: Entry[], name: string) => entries.findIndex((entry) => entry.name === name)

function exchange(one: string, other: string): (entries: Entry[]) => Entry[] {
  return (entries) => {
    const [a, b] = [find(entries, one), find(entries, other)]
    return entries.with(a, entries[b] as Entry).with(b, entries[a] as Entry)
  }
}

function exchangeBytes(one: string, other: string): (entries: Entry[]) => Entry[] {
  return (entries) => {
    const [a, b] = [find(entries, one), find(entries, other)]
    const bytesOf = (at: number) => (entries[at] as Entry).bytes
    return entries.with(a, { name: one, bytes: bytesOf(b) }).with(b, { name: other, bytes: bytesOf(a) })
  }
}

function replace(name: string, entries: (entry: Entry) => Entry[]): (all: Entry[]) => Entry[] {
  return (all) => all.flatMap((entry) => (entry.name === name ? entries(entry) : [entry]))
}

const drop = (name: string) => replace(name, () => [])
const double = (name: string) => replace(name, (entry) => [entry, entry])
const doubleAs = (name: string, as: string) =>
  replace(name, (entry) => [entry, { name: as, bytes: entry.bytes }])

const KINDS: Array<[string, (entries: Entry[]) => Entry[]]> = [
  ['two parts of a table in the other order', exchange(FIRST, SECOND)],
  ['two parts of two tables in the other order', exchange(FIRST, OTHER)],
  ['the content of a part in the place of the next', exchangeBytes(FIRST, SECOND)],
  ['the content of a part in the place of the last', exchangeBytes(SECOND, LAST)],
  ['the content of a part in the place of one of another table', exchangeBytes(FIRST, OTHER)],
  ['no first part of a table', drop(FIRST)],
  ['no second part of a table', drop(SECOND)],
  ['no last part of a table', drop(LAST)],
  ['no part of a small table', drop(OTHER)],
  ['a part of a table twice', double(SECOND)],
  ['a part of a small table twice', double(OTHER)],
  ['a part of a small table twice, with the next number', doubleAs(OTHER, OTHER.replace('1.copy', '2.copy'))],
  [
    'a part larger than any',
    replace(OTHER, ({ name }) => [{ name, bytes: gzipSync(Buffer.alloc(PART_BYTES + 1)) }]),
  ],
  ['a part of other bytes', replace(OTHER, ({ name }) => [{ name, bytes: gzipSync('no rows') }])],
]

function flip(archive: Buffer, place: number, bit: number): Buffer {
  const flipped = Buffer.from(archive)
  flipped[place] = (flipped[place] as number) ^ (1 << bit)
  return flipped
}

describe('a backup is called damaged, and nothing of it is restored,', () => {
  it.each(KINDS)('with %s', async (what, change) => {
    await expectDamaged(await rewrite(large, change), what)
    expect(await contentOf(target.url)).toEqual(before)
  })

  it('with a part that claims too many bytes', async () => {
    const at = small.indexOf(OTHER)
    for (const size of [2 ** 26 + 1, 2 ** 31, 2 ** 33 - 1]) {
      const archive = Buffer.from(small)
      const header = archive.subarray(at, at + BLOCK)
      header.write(size.toString(8).padStart(SIZE.digits, '0'), SIZE.at)
      header.fill(' ', SUM.at, SUM.at + 8)
      const sum = header.reduce((total, byte) => total + byte, 0)
      header.write(`${sum.toString(8).padStart(SUM.digits, '0')}\0 `, SUM.at, 'latin1')
      await expectDamaged(archive, `${size} bytes`)
    }
    expect(await contentOf(target.url)).toEqual(before)
  })

  it('with a flipped bit in any name or number of the manifest', async () => {
    const end = BLOCK + Number.parseInt(small.toString('latin1', SIZE.at, SIZE.at + SIZE.digits), 8)
    const manifest = small.toString('latin1', BLOCK, end)
    // A key is followed by a colon.
    const values = [...manifest.matchAll(/"[^"]+"(?!:)|\d+/g)].map(({ index, 0: value }, which) => ({
      place: BLOCK + index + (which % value.length),
      bit: which % 8,
      value,
    }))
    expect(values.length).toBeGreaterThan(500)
    for (const { place, bit, value } of sample(values, SOME))
      await expectDamaged(flip(small, place, bit), `bit ${bit} of byte ${place}, in ${value}`)
    expect(await contentOf(target.url)).toEqual(before)
  })
})
