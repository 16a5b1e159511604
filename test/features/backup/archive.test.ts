import { execFileSync } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { sample } from '../../kit/sampling.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { backUpToMemory, contentOf, fill, readThrough, restoreInto } from './rig.ts'

/** In so many places of an archive, beside those around its ends, something is tried, or in some of them by chance. */
const PLACES = 400
const SOME = 30

let source: TestDatabase
let empty: TestDatabase
let whole: Buffer
beforeAll(async () => {
  source = await openTestDatabase()
  empty = await openTestDatabase()
  await fill(source.url)
  whole = await backUpToMemory(source.url)
})
afterAll(async () => {
  await source.close()
  await empty.close()
})

const isRefusal = (error: unknown) =>
  error instanceof Error &&
  /^(?:the backup is (?:damaged|cut off)|this is not a backup of musette)/.test(error.message)

/** Places all over the archive, and around its beginning and its end. */
function placesIn(length: number): number[] {
  const step = Math.ceil(length / PLACES)
  const spread = Array.from({ length: Math.floor(length / step) }, (_, index) => index * step)
  const ends = [0, 1, 511, 512, 513, length - 1025, length - 1024, length - 512, length - 2, length - 1]
  return [...new Set([...sample(spread, SOME), ...ends])]
}

async function expectRefused(bytes: Buffer, what: string): Promise<void> {
  const refused = await readThrough(bytes).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(isRefusal(refused), `${what}: ${refused}`).toBe(true)
}

describe('an archive', () => {
  it('is read to its end', async () => {
    await expect(readThrough(whole)).resolves.toBeUndefined()
  })

  it('that is cut off at any byte is refused', async () => {
    for (const length of placesIn(whole.length))
      await expectRefused(whole.subarray(0, length), `${length} bytes`)
  })

  it('with one flipped bit anywhere is refused', async () => {
    for (const place of placesIn(whole.length)) {
      const flipped = Buffer.from(whole)
      flipped[place] = (flipped[place] as number) ^ (1 << (place % 8))
      await expectRefused(flipped, `a bit of byte ${place}`)
    }
  })

  it('with more behind its end, or without a part, is refused', async () => {
    await expectRefused(Buffer.concat([whole, Buffer.alloc(1)]), 'a byte more')
    // A part of a small table is one header and one block.
    const at = whole.indexOf('training.sync_runs/000001.copy.gz')
    await expectRefused(Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1024)]), 'a part less')
  })

  it('that is damaged leaves the database empty, so that a whole one can be restored', async () => {
    const before = await contentOf(empty.url)
    for (const place of [700, whole.length >> 1, whole.length - 1500]) {
      const flipped = Buffer.from(whole)
      flipped[place] = (flipped[place] as number) ^ 0x10
      await expect(restoreInto(empty.url, flipped)).rejects.toSatisfy(isRefusal)
      await expect(restoreInto(empty.url, whole.subarray(0, place))).rejects.toSatisfy(isRefusal)
    }
    expect(await contentOf(empty.url)).toEqual(before)
    await restoreInto(empty.url, whole)
    expect(await contentOf(empty.url)).toEqual(await contentOf(source.url))
  })

  it('holds all tables at one moment, whatever is committed meanwhile', async () => {
    const busy = await openTestDatabase()
    const restored = await openTestDatabase()
    try {
      await fill(busy.url)
      const before = await contentOf(busy.url)
      // No table has a row more or less after it, so that their numbers tell nothing.
      const change = () =>
        queryOnce(
          busy.url,
          `update training.raw_documents set body = 'later';
           update training.samples set power = 1`,
        )
      await restoreInto(restored.url, await backUpToMemory(busy.url, change))
      expect(await contentOf(restored.url)).toEqual(before)
      expect(await contentOf(busy.url)).not.toEqual(before)
    } finally {
      await busy.close()
      await restored.close()
    }
  })

  it('opens with tar, sha256sum and gunzip, and Postgres takes a table from it', async () => {
    const folder = await openTempDir('archive')
    await writeFile(join(folder.path, 'backup.tar'), whole)
    const run = (command: string, ...args: string[]) =>
      execFileSync(command, args, { cwd: folder.path, encoding: 'utf8' })
    run('tar', 'xf', 'backup.tar')
    expect(run('sha256sum', '--check', '--quiet', 'SHA256SUMS')).toBe('')
    const manifest = JSON.parse(await readFile(join(folder.path, 'manifest.json'), 'utf8'))
    expect(manifest.tables.find(({ name }: { name: string }) => name === 'training.samples').rows).toBe(6000)
    const names = await readdir(join(folder.path, 'training.accounts'))
    const parts = await Promise.all(
      names.map((name) => readFile(join(folder.path, 'training.accounts', name))),
    )
    expect(gunzipSync(Buffer.concat(parts)).toString('latin1', 0, 6)).toBe('PGCOPY')
    await folder.close()
  })
})

describe('a restored database', () => {
  it('has planner statistics, index summaries and next numbers as after a sync', async () => {
    const [{ analyzed, summaries } = {}] = await queryOnce(
      empty.url,
      `select (select reltuples from pg_class where oid = 'training.samples'::regclass) as analyzed,
         brin_summarize_new_values('training.samples_activity') as summaries`,
    )
    expect({ analyzed, summaries }).toEqual({ analyzed: 6000, summaries: 0 })
    const [next] = await queryOnce(
      empty.url,
      "insert into training.accounts (name, base_url) values ('later', '') returning account_id",
    )
    expect(next).toEqual({ account_id: 2 })
    const [trigger] = await queryOnce(
      empty.url,
      "select count(*)::int as off from pg_trigger where not tgisinternal and tgenabled <> 'O'",
    )
    expect(trigger).toEqual({ off: 0 })
  })
})
