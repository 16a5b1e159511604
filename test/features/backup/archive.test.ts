import { Readable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { CHECKSUMS, makeChecksum, PART_BYTES } from '../../../src/features/backup/archive/manifest.ts'
import { compressParts, decompressParts } from '../../../src/features/backup/archive/parts.ts'
import { ARCHIVE_END, type Entry, makeEntry, readEntries } from '../../../src/features/backup/archive/tar.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { sample } from '../../kit/sampling.ts'
import { backUpToMemory, contentOf, fill, readThrough, restoreInto } from './rig.ts'

/** Number of places in an archive, beside those around its ends, that are changed in turn; without WHOLE only a random sample of SOME. */
const PLACES = 400
const SOME = 30
const BLOCK = 512
/** The size field in the header of an entry, in octal digits. */
const SIZE = { at: 124, digits: 11 }
const FIRST = 'training.samples/000001.copy.gz'
const SECOND = 'training.samples/000002.copy.gz'
const LAST = 'training.samples/000003.copy.gz'
const OTHER = 'training.accounts/000001.copy.gz'

const source = openForAll(openTestDatabase)
const target = openForAll(openTestDatabase)
/** An archive, and the same rows with the samples in three parts. */
let whole: Buffer
let parted: Buffer
/** The content of the target while nothing is restored into it. */
let before: Record<string, unknown>
beforeAll(async () => {
  await fill(source.url)
  whole = await backUpToMemory(source.url)
  parted = await rewrite(whole, inThreeParts)
  before = await contentOf(target.url)
})

/** Rewrites an archive with entries changed by `change`. */
async function rewrite(archive: Buffer, change: (entries: Entry[]) => Entry[]): Promise<Buffer> {
  const entries = await gather(readEntries(Readable.from([archive])))
  return Buffer.concat([...change(entries).map((entry) => makeEntry(entry, 0)), ARCHIVE_END])
}

function inThreeParts(entries: Entry[]): Entry[] {
  const parts = replace(FIRST, ({ bytes }) => {
    const rows = gunzipSync(bytes)
    const third = Math.ceil(rows.length / 3)
    return [FIRST, SECOND, LAST].map((name, index) => ({
      name,
      bytes: gzipSync(rows.subarray(index * third, (index + 1) * third)),
    }))
  })(entries)
  const checksums = parts.filter(({ name }) => name !== CHECKSUMS).map(makeChecksum)
  return replace(CHECKSUMS, ({ name }) => [{ name, bytes: Buffer.from(checksums.join('')) }])(parts)
}

function replace(name: string, entries: (entry: Entry) => Entry[]): (all: Entry[]) => Entry[] {
  return (all) => all.flatMap((entry) => (entry.name === name ? entries(entry) : [entry]))
}

const instead = (name: string, make: (bytes: Buffer) => Buffer) =>
  replace(name, ({ bytes }) => [{ name, bytes: make(bytes) }])
const asText = (bytes: Buffer) => gunzipSync(bytes).toString('latin1')

/** Each keeps the old checksums. */
const KINDS: Array<[string, (entries: Entry[]) => Entry[]]> = [
  ['another value in a part', instead(LAST, (bytes) => gzipSync(asText(bytes).replace('.1', '.2')))],
  ['no last part of a table', replace(LAST, () => [])],
  ['a part of a table twice', replace(SECOND, (entry) => [entry, entry])],
  ['a part larger than any', instead(OTHER, () => gzipSync(Buffer.alloc(PART_BYTES + 1)))],
  ['a part of other bytes', instead(OTHER, () => gzipSync('no rows'))],
]

function flip(archive: Buffer, place: number, bit = place % 8): Buffer {
  const flipped = Buffer.from(archive)
  flipped[place] = (flipped[place] as number) ^ (1 << bit)
  return flipped
}

async function expectDamaged(archive: Buffer, what: string): Promise<void> {
  const refused = await restoreInto(target.url, archive).catch((error: unknown) => error)
  expect(refused, what).toMatchObject({
    name: 'MusetteError',
    code: 'backup_damaged',
    message: expect.stringMatching(/^the backup is damaged \(.+\); nothing is restored; use another backup$/),
  })
}

describe('a backup is refused as damaged and restores nothing', () => {
  it.each(KINDS)('with %s', async (what, change) => {
    await expectDamaged(await rewrite(parted, change), what)
    expect(await contentOf(target.url)).toEqual(before)
  })

  it('if a bit of any name or number in the manifest is flipped', async () => {
    const end = BLOCK + Number.parseInt(whole.toString('latin1', SIZE.at, SIZE.at + SIZE.digits), 8)
    const manifest = whole.toString('latin1', BLOCK, end)
    // Skips keys, which a colon follows.
    const values = [...manifest.matchAll(/"[^"]+"(?!:)|\d+/g)].map(({ index, 0: value }, which) => ({
      place: BLOCK + index + (which % value.length),
      bit: which % 8,
      value,
    }))
    expect(values.length).toBeGreaterThan(500)
    // There are fewer numbers than names, but numbers cause most errors of the restore itself.
    const [numbers, names] = [true, false].map((is) => values.filter(({ value }) => /^\d/.test(value) === is))
    for (const { place, bit, value } of [...sample(numbers ?? [], SOME), ...sample(names ?? [], SOME)])
      await expectDamaged(flip(whole, place, bit), `bit ${bit} of byte ${place}, in ${value}`)
    expect(await contentOf(target.url)).toEqual(before)
  })
})

const REFUSAL = /^(?:the backup is (?:damaged|cut off)|this is not a backup of musette)/

/** Places spread over the archive, and around its beginning and its end. */
function placesIn(length: number): number[] {
  const step = Math.ceil(length / PLACES)
  const spread = Array.from({ length: Math.floor(length / step) }, (_, index) => index * step)
  const ends = [0, 1, 511, 512, 513, length - 1025, length - 1024, length - 512, length - 2, length - 1]
  return [...new Set([...sample(spread, SOME), ...ends])]
}

describe('an archive', () => {
  it('is refused if any bit is flipped or its end is missing', async () => {
    for (const place of placesIn(whole.length)) {
      await expect(readThrough(flip(whole, place)), `a bit of byte ${place}`).rejects.toThrow(REFUSAL)
      await expect(readThrough(whole.subarray(0, place)), `cut at ${place}`).rejects.toThrow(REFUSAL)
    }
    await expect(readThrough(Buffer.concat([whole, Buffer.alloc(1)]))).rejects.toThrow(REFUSAL)
  })

  it('leaves the database empty if it is damaged, so that an intact one can follow', async () => {
    for (const place of [700, whole.length >> 1, whole.length - 1500]) {
      await expect(restoreInto(target.url, flip(whole, place))).rejects.toThrow(REFUSAL)
      await expect(restoreInto(target.url, whole.subarray(0, place))).rejects.toThrow(REFUSAL)
    }
    expect(await contentOf(target.url)).toEqual(before)
    await restoreInto(target.url, parted)
    expect(await contentOf(target.url)).toEqual(await contentOf(source.url))
    const state = `select (select reltuples from pg_class where oid = 'training.samples'::regclass) as analyzed,
      brin_summarize_new_values('training.samples_activity') as without_summary,
      (select count(*)::int from pg_trigger where not tgisinternal and tgenabled <> 'O') as triggers_off`
    const [found] = await queryOnce(target.url, state)
    expect(found).toEqual({ analyzed: 6_000, without_summary: 0, triggers_off: 0 })
    const next = `insert into training.accounts (name, base_url) values ('later', '') returning account_id`
    expect(await queryOnce(target.url, next)).toEqual([{ account_id: 2 }])
  })

  it('holds a snapshot of all tables, regardless of later commits', async () => {
    const [busy, restored] = [await openTestDatabase(), await openTestDatabase()]
    for (const database of [busy, restored]) onTestFinished(() => database.close())
    await fill(busy.url)
    const then = await contentOf(busy.url)
    // No table changes its number of rows, so the counts cannot reveal the change.
    const change = `update training.raw_documents set body = 'later'; update training.samples set power = 1`
    await restoreInto(restored.url, await backUpToMemory(busy.url, () => queryOnce(busy.url, change)))
    expect(await contentOf(restored.url)).toEqual(then)
    expect(await contentOf(busy.url)).not.toEqual(then)
  })
})

async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

it('a table is cut into gzip files of 4 MiB that give the same bytes in order', async () => {
  const text = Buffer.alloc(PART_BYTES * 2 + 1, 'a row of some text ')
  for (const [bytes, sizes] of [
    [text, [PART_BYTES, PART_BYTES, 1]],
    [text.subarray(0, PART_BYTES), [PART_BYTES]],
    [text.subarray(0, 0), []],
  ] as const) {
    const parts = await gather(compressParts(Readable.from([bytes.subarray(0, 7), bytes.subarray(7)])))
    expect(parts.map((part) => gunzipSync(part).length)).toEqual(sizes)
    const back = await gather(decompressParts(Readable.from(parts), () => new Error('damaged')))
    expect(Buffer.concat(back).equals(bytes)).toBe(true)
  }
})
