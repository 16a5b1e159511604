import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { verifyBackup } from '../../../src/features/backup/backups.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { backUpToMemory, contentOf, fill, restoreInto } from './rig.ts'

describe('verifying a backup', () => {
  const source = openForAll(openTestDatabase)
  const folder = openForAll(() => openTempDir('verify'))
  let whole: Buffer
  beforeAll(async () => {
    await fill(source.url)
    whole = await backUpToMemory(source.url)
    await writeFile(join(folder.path, 'musette.tar'), whole)
  })

  const verify = (path: string) =>
    runVerb(['backup', '--verify', path], {
      env: { DATABASE_URL: source.url, MUSETTE_DATA_DIR: join(folder.path, 'data') },
      cwd: folder.path,
    })
  /** Waits until only these verification databases are left; other tests have theirs for some seconds. */
  const expectLeft = (names: string[]) =>
    eventually(async () => {
      const query = `select datname from pg_database
        where datname ~ '^musette_verify_' and datdba = current_user::regrole order by 1`
      const found = (await queryOnce(source.url, query)).map(({ datname }) => datname)
      return JSON.stringify(found) === JSON.stringify(names)
    })

  it('restores and compares it beside the database and removes the copy', async () => {
    const [old, young] = [`${Date.now() - 7_200_000}_ab`, `${Date.now()}_cd`].map(
      (end) => `musette_verify_${end}`,
    )
    for (const name of [old, young]) await queryOnce(source.url, `create database ${name}`)
    onTestFinished(async () => void (await queryOnce(source.url, `drop database ${young}`)))
    const before = await contentOf(source.url)
    const good = await verify('musette.tar')
    expect(good).toMatchObject({ code: 0 })
    expect(good.stdout).toMatch(/^musette\.tar: \d+ tables with 6,\d+ rows of 20\S+, each as it was written/)
    expect(await contentOf(source.url)).toEqual(before)
    expect(await readdir(folder.path)).toEqual(['musette.tar'])
    // A killed verification's database is removed; one that is in use stays.
    await expectLeft([String(young)])
  })

  it('fails if the restored rows differ from the archive', async () => {
    const target = await openTestDatabase()
    onTestFinished(() => target.close())
    // A type that pads every value with blanks.
    await queryOnce(target.url, 'alter table training.raw_documents alter column sha256 type char(9)')
    await expect(restoreInto(target.url, whole, { compare: true })).rejects.toMatchObject({
      code: 'backup_differs',
      message: expect.stringContaining('training.raw_documents'),
    })
  })

  it('uses an embedded Postgres if it may create no database, and removes killed ones', async () => {
    const role = `small_${Date.now()}`
    await queryOnce(source.url, `create role ${role} login password 'x' nocreatedb`)
    onTestFinished(async () => void (await queryOnce(source.url, `drop role ${role}`)))
    const small = Object.assign(new URL(source.url), { username: role, password: 'x' })
    const data = join(folder.path, 'embedded')
    for (const name of ['verify-killed', 'verify-young']) await mkdir(join(data, name), { recursive: true })
    const earlier = new Date(Date.now() - 7_200_000)
    await utimes(join(data, 'verify-killed'), earlier, earlier)
    const config = readConfig({ DATABASE_URL: small.href, MUSETTE_DATA_DIR: data })
    const input = { from: { path: join(folder.path, 'musette.tar') }, signal: new AbortController().signal }
    const manifest = await verifyBackup({ config, log: makeSilentLog() }, input)
    expect(manifest.tables.find(({ name }) => name === 'training.samples')).toMatchObject({ rows: 6_000 })
    expect(await readdir(data)).toEqual(['verify-young'])
  })
})
