import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findBinary, runsWith } from '../../kit/binaries.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { backUpToMemory, contentOf, fill } from './rig.ts'

const run = promisify(execFile)

describe.runIf(runsWith(findBinary(['psql'])))('an archive on a machine without musette', () => {
  const source = openForAll(openTestDatabase)
  const folder = openForAll(() => openTempDir('plain'))
  beforeAll(async () => {
    await fill(source.url)
    await writeFile(join(folder.path, 'musette.tar'), await backUpToMemory(source.url))
    await run('tar', ['-xf', join(folder.path, 'musette.tar'), '-C', folder.path])
  })

  const openPlain = async () => {
    const database = await openTestDatabase({ migrated: false })
    onTestFinished(() => database.close())
    return { url: plainUrl(database.url) }
  }
  /** Drops the URL parameters that an older psql does not know. */
  const plainUrl = (url: string) => url.replace(/\?.*$/, '')
  const restore = (...args: string[]) =>
    run('sh', [join(folder.path, 'restore.sh'), ...args], { cwd: '/' }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ code: Number(code), stdout: String(stdout), stderr: String(stderr) }),
    )
  const tablesOf = (url: string) =>
    queryOnce(
      url,
      `select table_schema || '.' || table_name as name from information_schema.tables
       where table_schema in ('training', 'musette')`,
    )

  it('is loaded row for row by tar, gunzip and psql', async () => {
    const target = await openPlain()
    expect(await restore(target.url)).toEqual({ code: 0, stdout: '', stderr: '' })
    const ofMigrations = /^musette\.migrations/
    const content = Object.fromEntries(
      Object.entries(await contentOf(source.url)).filter(([name]) => !ofMigrations.test(name)),
    )
    expect(Object.keys(content).length).toBeGreaterThan(25)
    expect(await contentOf(target.url)).toEqual(content)
    const shape = (url: string) =>
      queryOnce(
        url,
        `select attrelid::regclass::text as of, attname, format_type(atttypid, atttypmod), attnotnull, col_description(attrelid, attnum),
           (select array_agg(pg_get_constraintdef(k.oid) order by conname) from pg_constraint k
            where conrelid = attrelid and contype in ('p', 'u', 'f', 'c')) as keys,
           (select array_agg(pg_get_indexdef(indexrelid) order by pg_get_indexdef(indexrelid)) from pg_index where indrelid = attrelid) as indexes
         from pg_attribute join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace
         where nspname in ('training', 'musette') and relkind = 'r' and relname <> 'migrations'
           and relpersistence <> 'u' and attnum > 0 and not attisdropped
         order by 1, attnum`,
      )
    expect(await shape(target.url)).toEqual(await shape(source.url))
    const line = 'select identity, line, earlier_lines from training.database'
    const [[before], [after]] = [await queryOnce(source.url, line), await queryOnce(target.url, line)]
    expect(after).toMatchObject({ identity: before?.identity, earlier_lines: [before?.line] })
    expect(after?.line).not.toBe(before?.line)
    const newest = `select change_id > 1e15 as far, kind, detail ->> 'cause' as cause, detail ->> 'line' as line
      from training.changes order by change_id desc limit 1`
    const restored = { far: true, kind: 'restored', cause: 'backup', line: after?.line }
    expect(await queryOnce(target.url, newest)).toEqual([restored])
    const next = `select nextval(pg_get_serial_sequence('training.accounts', 'account_id'))::int as id`
    expect(await queryOnce(target.url, next)).toEqual([{ id: 2 }])
  })

  it('changes nothing if the tables exist, a part was changed, or a part cannot be unpacked', async () => {
    const usage = expect.stringContaining('usage: sh restore.sh')
    expect(await restore()).toMatchObject({ code: 2, stderr: usage })
    const before = await contentOf(source.url)
    const exists = expect.stringContaining('already exists')
    expect(await restore(plainUrl(source.url))).toMatchObject({ code: 3, stderr: exists })
    expect(await contentOf(source.url)).toEqual(before)
    const target = await openPlain()
    const name = join(folder.path, 'training.samples', '000001.copy.gz')
    const whole = await readFile(name)
    const flipped = Buffer.from(whole)
    flipped[whole.length >> 1] = (flipped[whole.length >> 1] as number) ^ 1
    await writeFile(name, flipped)
    expect((await restore(target.url)).code).not.toBe(0)
    // Even without the checksums gunzip notices the change.
    const script = await readFile(join(folder.path, 'restore.sh'), 'utf8')
    await writeFile(join(folder.path, 'restore.sh'), script.replace(/^if command -v.*$/m, ''))
    expect((await restore(target.url)).code).not.toBe(0)
    expect(await tablesOf(target.url)).toEqual([])
  })
})
