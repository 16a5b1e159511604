import { randomBytes } from 'node:crypto'
import { readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { PART_BYTES } from '../../../src/features/backup/archive/manifest.ts'
import { compressParts, decompressParts } from '../../../src/features/backup/archive/parts.ts'
import { ARCHIVE_END, makeEntry, readEntries } from '../../../src/features/backup/archive/tar.ts'
import { readNewestBackup, readScheduled, scheduledName } from '../../../src/features/backup/backup-folder.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

async function* streamOf(...chunks: Buffer[]) {
  yield* chunks
}

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

it('entries of an archive are read as they were made, in any pieces, with the longest name and whole blocks', async () => {
  const made = [0, 1, 511, 512, 513, 1024].map((size, index) => ({
    name: `${index}`.padEnd(99, 'x'),
    bytes: Buffer.alloc(size, 7),
  }))
  const whole = Buffer.concat([...made.map((entry) => makeEntry(entry, 8 ** 10)), ARCHIVE_END])
  for (const pieceBytes of [1, 512, 700, whole.length]) {
    const pieces = Array.from({ length: Math.ceil(whole.length / pieceBytes) }, (_, index) =>
      whole.subarray(index * pieceBytes, (index + 1) * pieceBytes),
    )
    expect(await listOf(readEntries(streamOf(...pieces)))).toEqual(made)
  }
})

it.each([
  ['a name of 100 letters', 'x'.repeat(100), 0, 'backup_damaged'],
  ['64 MB, of which nothing comes', 'a', 64 * 1024 * 1024, 'backup_cut_off'],
  ['a byte more than 64 MB', 'a', 64 * 1024 * 1024 + 1, 'backup_damaged'],
])('an entry is refused by its header, with %s', async (_, name, size, code) => {
  const entry = makeEntry({ name, bytes: Buffer.alloc(0) }, 0)
  entry.write(size.toString(8).padStart(11, '0'), 124, 'latin1')
  entry.write('        ', 148, 'latin1')
  const sum = entry.reduce((total, byte) => total + byte, 0)
  entry.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  await expect(listOf(readEntries(streamOf(entry)))).rejects.toMatchObject({ code })
})

it('the parts of a table are cut at 4 MiB, gzipped separately, and give the same bytes in order', async () => {
  const text = Buffer.alloc(PART_BYTES * 2 + 1, 'a row of some text ')
  for (const [bytes, sizes] of [
    [text, [PART_BYTES, PART_BYTES, 1]],
    [text.subarray(0, PART_BYTES), [PART_BYTES]],
    [text.subarray(0, 0), []],
  ] as const) {
    const parts = await listOf(compressParts(streamOf(bytes.subarray(0, 7), bytes.subarray(7))))
    expect(parts.map((part) => gunzipSync(part).length)).toEqual(sizes)
    const back = await listOf(decompressParts(streamOf(...parts), () => new Error('damaged')))
    expect(Buffer.concat(back).equals(bytes)).toBe(true)
  }
})

it('a part is compressed or stored, decided by its beginning', async () => {
  const random = randomBytes(64 * 1024)
  const isSmaller = async (...chunks: Buffer[]) => {
    const [part] = await listOf(compressParts(streamOf(...chunks)))
    return (part?.length ?? 0) < Buffer.concat(chunks).length
  }
  expect(await isSmaller(Buffer.alloc(200_000, 'abc'))).toBe(true)
  expect(await isSmaller(random, Buffer.alloc(100_000))).toBe(false)
  // A tenth of zeros saves hardly more than a tenth, two tenths do.
  const mixed = (zeros: number) => Buffer.concat([Buffer.alloc(zeros), random]).subarray(0, 40_000)
  expect([await isSmaller(mixed(2_000)), await isSmaller(mixed(8_000))]).toEqual([false, true])
})

it('a folder of scheduled backups is created when missing, and its newest is the last written, whatever its name', async () => {
  const folder = await openTempDir('backups')
  onTestFinished(() => folder.close())
  const schedule = { dir: join(folder.path, 'missing'), line: '0b5e7a3c-0000-4000-8000-000000000000' }
  expect(await readNewestBackup(schedule)).toBeUndefined()
  expect(await readScheduled(schedule)).toEqual([])
  expect([await readdir(schedule.dir), (await stat(schedule.dir)).mode & 0o777]).toEqual([[], 0o700])
  const hour = (at: number) => new Date(Date.UTC(2024, 0, 31, at, 2, 3))
  for (const [name, at] of [
    [scheduledName(hour(7), schedule.line), hour(12)],
    [scheduledName(hour(8), schedule.line), hour(11)],
    [scheduledName(hour(6), 'f0000000'), hour(13)],
  ] as const) {
    await writeFile(join(schedule.dir, name), name)
    await utimes(join(schedule.dir, name), at, at)
  }
  const name = 'musette-20240131T070203Z-0b5e7a3c.tar'
  const newest = { path: join(schedule.dir, name), doneAt: hour(12), bytes: name.length }
  expect(await readNewestBackup(schedule)).toEqual(newest)
})
