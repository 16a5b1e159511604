import { randomBytes } from 'node:crypto'
import { mkdir, readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { countManifestRows, PART_BYTES, partName } from '../../../src/features/backup/archive/manifest.ts'
import { compressParts, decompressParts } from '../../../src/features/backup/archive/parts.ts'
import { ARCHIVE_END, makeEntry, readEntries } from '../../../src/features/backup/archive/tar.ts'
import {
  readBackupsOfOthers,
  readNewestBackup,
  readScheduled,
  removeOldBackups,
  removeUnfinished,
  scheduledName,
} from '../../../src/features/backup/backup-folder.ts'
import { VERIFY_EVERY_MS } from '../../../src/features/backup/settings.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

async function* streamOf(...chunks: Buffer[]) {
  yield* chunks
}

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

describe('an entry of an archive', () => {
  it('has the fields of a ustar header in their places, and zeros between them', () => {
    const entry = makeEntry({ name: 'a/b.gz', bytes: Buffer.from('12345') }, 8 ** 10)
    const header = Buffer.alloc(512)
    for (const [at, text] of [
      ...[
        [0, 'a/b.gz'],
        [100, '0000600'],
        [108, '0000000'],
        [116, '0000000'],
        [124, '00000000005'],
      ],
      ...[
        [136, '10000000000'],
        [148, '        '],
        [156, '0'],
        [257, 'ustar\u000000'],
        [329, '0000000'],
        [337, '0000000'],
      ],
    ] as Array<[number, string]>)
      header.write(text, at, 'latin1')
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
    expect(entry.subarray(0, 512)).toEqual(header)
    expect(entry.subarray(512)).toEqual(Buffer.concat([Buffer.from('12345'), Buffer.alloc(507)]))
    expect(ARCHIVE_END).toEqual(Buffer.alloc(1024))
  })

  it('is read as it was made in any pieces, with the longest name and no padding for whole blocks', async () => {
    const sizes = [0, 1, 511, 512, 513, 1024]
    const made = sizes.map((size, index) => ({
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
    const tooLong = makeEntry({ name: 'x'.repeat(100), bytes: Buffer.alloc(0) }, 0)
    await expect(listOf(readEntries(streamOf(tooLong, ARCHIVE_END)))).rejects.toMatchObject({
      code: 'backup_damaged',
    })
  })

  it('is refused by its header above 64 MB', async () => {
    const read = (size: number) => {
      const entry = makeEntry({ name: 'a', bytes: Buffer.alloc(0) }, 0)
      entry.write(size.toString(8).padStart(11, '0'), 124, 'latin1')
      entry.write('        ', 148, 'latin1')
      const sum = entry.reduce((total, byte) => total + byte, 0)
      entry.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
      return listOf(readEntries(streamOf(entry)))
    }
    await expect(read(64 * 1024 * 1024)).rejects.toMatchObject({ code: 'backup_cut_off' })
    await expect(read(64 * 1024 * 1024 + 1)).rejects.toMatchObject({ code: 'backup_damaged' })
  })
})

describe('the parts of a table', () => {
  it('are cut at 4 MiB, gzipped separately, and give the same bytes in order', async () => {
    expect(PART_BYTES).toBe(4 * 1024 * 1024)
    const text = Buffer.alloc(PART_BYTES * 2 + 1, 'a row of some text ')
    for (const [bytes, sizes] of [
      [text, [PART_BYTES, PART_BYTES, 1]],
      [text.subarray(0, PART_BYTES), [PART_BYTES]],
      [text.subarray(0, 10), [10]],
      [text.subarray(0, 0), []],
    ] as const) {
      const parts = await listOf(compressParts(streamOf(bytes.subarray(0, 7), bytes.subarray(7))))
      expect(parts.map((part) => gunzipSync(part).length)).toEqual(sizes)
      const back = await listOf(decompressParts(streamOf(...parts), () => new Error('damaged')))
      expect(Buffer.concat(back).equals(bytes)).toBe(true)
    }
  })

  it('are compressed or stored, decided by their beginning', async () => {
    const [packed] = await listOf(compressParts(streamOf(Buffer.alloc(200_000, 'abc'))))
    expect(packed?.length).toBeLessThan(2_000)
    const random = randomBytes(64 * 1024)
    const [stored] = await listOf(compressParts(streamOf(random, Buffer.alloc(100_000))))
    expect(stored?.length).toBeGreaterThan(164_000)
    // A tenth of zeros saves hardly more than a tenth, two tenths do.
    const mixed = async (zeros: number) => {
      const bytes = Buffer.concat([Buffer.alloc(zeros), random]).subarray(0, 40_000)
      const [part] = await listOf(compressParts(streamOf(bytes)))
      return (part?.length ?? 0) < 40_000
    }
    expect([await mixed(2_000), await mixed(8_000)]).toEqual([false, true])
  })

  it('that are damaged or too large throw after the parts before them', async () => {
    const [good] = await listOf(compressParts(streamOf(Buffer.from('good'))))
    const large = await listOf(compressParts(streamOf(Buffer.alloc(PART_BYTES), Buffer.alloc(1))))
    for (const bad of [Buffer.from('no gzip'), Buffer.concat(large)]) {
      const seen: string[] = []
      const reading = (async () => {
        const parts = decompressParts(streamOf(good as Buffer, bad), () => new Error('damaged'))
        for await (const bytes of parts) seen.push(bytes.toString())
      })()
      await expect(reading).rejects.toThrow('damaged')
      expect(seen).toEqual(['good'])
    }
  })

  it('have names of six digits from 1, and the rows of all tables are counted', () => {
    expect([partName('t.a', 1), partName('t.a', 123_456)]).toEqual([
      't.a/000001.copy.gz',
      't.a/123456.copy.gz',
    ])
    const tables = [2, 3].map((rows) => ({ name: 't', columns: [], rows }))
    expect([countManifestRows({ tables }), countManifestRows({ tables: [] })]).toEqual([5, 0])
  })
})

describe('a folder of scheduled backups', () => {
  const LINE = '0b5e7a3c-0000-4000-8000-000000000000'
  const hour = (at: number) => new Date(Date.UTC(2024, 0, 31, at, 2, 3))
  const nameOf = (at: number, line = LINE) => scheduledName(hour(at), line)
  const OTHERS = ['musette-20240131T060203Z.tar', scheduledName(hour(6), `f${LINE.slice(1)}`)]

  async function openBackups(...names: string[]) {
    const folder = await openTempDir('backups')
    onTestFinished(() => folder.close())
    for (const name of names) await writeFile(join(folder.path, name), name)
    return {
      schedule: { dir: folder.path, line: LINE },
      list: async () => (await readdir(folder.path)).sort(),
    }
  }

  it('keeps the newest of its line by name, and changes no other file', async () => {
    expect(nameOf(6)).toBe('musette-20240131T060203Z-0b5e7a3c.tar')
    const { schedule, list } = await openBackups(
      ...[5, 9, 7, 8].map((at) => nameOf(at)),
      ...OTHERS,
      'mine.tar',
    )
    expect(await readScheduled(schedule)).toEqual(
      [9, 8, 7, 5].map((at) => ({ name: nameOf(at), madeAt: hour(at) })),
    )
    const others = OTHERS.map((name) => join(schedule.dir, name)).sort()
    expect((await readBackupsOfOthers(schedule)).sort()).toEqual(others)
    // The clock was ahead when that of 9 o'clock was named.
    expect(await removeOldBackups(schedule, { keep: 2, madeAt: hour(8) })).toEqual([nameOf(9)])
    expect(await list()).toEqual([...[7, 8, 9].map((at) => nameOf(at)), ...OTHERS, 'mine.tar'].sort())
  })

  it('knows the last written backup, whatever its name', async () => {
    const { schedule } = await openBackups(nameOf(7), nameOf(8), ...OTHERS)
    for (const [name, at] of [
      [nameOf(7), hour(12)],
      [nameOf(8), hour(11)],
      [OTHERS[1], hour(13)],
    ] as const)
      await utimes(join(schedule.dir, String(name)), at, at)
    const path = join(schedule.dir, nameOf(7))
    expect(await readNewestBackup(schedule)).toEqual({ path, doneAt: hour(12), bytes: nameOf(7).length })
  })

  it('is created when missing, and counts as empty before', async () => {
    const { schedule } = await openBackups()
    const missing = { ...schedule, dir: join(schedule.dir, 'missing') }
    expect([await readNewestBackup(missing), await readBackupsOfOthers(missing)]).toEqual([undefined, []])
    expect(await readScheduled(missing)).toEqual([])
    expect([await readdir(missing.dir), (await stat(missing.dir)).mode & 0o777]).toEqual([[], 0o700])
    await mkdir(join(missing.dir, 'a'))
    await writeFile(join(schedule.dir, 'file'), '')
    const inFile = { ...schedule, dir: join(schedule.dir, 'file') }
    await expect(readScheduled(inFile)).rejects.toMatchObject({ code: 'backup_file' })
  })

  it('loses the unfinished backups of its line', async () => {
    const unfinished = (name: string) => `${name}.0b5e7a3c-0000-4000-8000-000000000000.part`
    const names = [nameOf(6), nameOf(7), ...OTHERS].map(unfinished)
    const { schedule, list } = await openBackups(...names, nameOf(6), ...OTHERS)
    await removeUnfinished(schedule)
    expect(await list()).toEqual([...names.slice(2), nameOf(6), ...OTHERS].sort())
  })

  it('has its newest backup verified each week', () => {
    expect(VERIFY_EVERY_MS).toBe(7 * 24 * 3_600_000)
  })
})
