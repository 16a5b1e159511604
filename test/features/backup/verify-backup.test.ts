import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { verifyBackup } from '../../../src/features/backup/backups.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { backUpToMemory, contentOf, fill, restoreInto } from './rig.ts'

const log = makeSilentLog()
const { signal } = new AbortController()

describe('a backup that is verified', () => {
  let source: TestDatabase
  let folder: TempDir
  let whole: Buffer
  let file: string
  beforeAll(async () => {
    source = await openTestDatabase()
    folder = await openTempDir('verify')
    await fill(source.url)
    whole = await backUpToMemory(source.url)
    file = join(folder.path, 'musette.tar')
    await writeFile(file, whole)
  })
  afterAll(async () => {
    await source?.close()
    await folder?.close()
  })

  const configOf = (url: string | null) =>
    readConfig({ ...(url && { DATABASE_URL: url }), MUSETTE_DATA_DIR: join(folder.path, 'data') })
  const verify = (path = file, url: string | null = source.url) =>
    verifyBackup({ config: configOf(url), log }, { from: { path }, signal })
  /** Waits until these databases of a verification are there alone; other tests have theirs for some seconds. */
  const expectLeft = (names: string[]) =>
    eventually(async () => {
      const query = `select datname from pg_database
        where datname ~ '^musette_verify_' and datdba = current_user::regrole order by 1`
      const found = (await queryOnce(source.url, query)).map(({ datname }) => datname)
      return JSON.stringify(found) === JSON.stringify(names)
    })
  const written = async (name: string, bytes: Buffer) => {
    await writeFile(join(folder.path, name), bytes)
    return join(folder.path, name)
  }

  it('is restored and compared without a change of the database, and removed', async () => {
    const before = await contentOf(source.url)
    const manifest = await verify()
    expect(manifest.tables.find(({ name }) => name === 'training.samples')).toMatchObject({ rows: 6_000 })
    expect(await contentOf(source.url)).toEqual(before)
    await expectLeft([])
    expect(await readdir(folder.path)).toEqual(['musette.tar'])
  })

  it('says so on the command line; a damaged, cut or other file is refused', async () => {
    const env = { DATABASE_URL: source.url, MUSETTE_DATA_DIR: join(folder.path, 'data') }
    const run = (path: string) => runVerb(['backup', '--verify', path], { env, cwd: folder.path })
    const good = await run('musette.tar')
    expect(good).toMatchObject({ code: 0, stderr: '' })
    expect(good.stdout).toMatch(/^musette\.tar: \d+ tables with 6,\d+ rows of 20\S+, each as it was written/)
    const flipped = Buffer.from(whole)
    flipped[whole.length >> 1] = (flipped[whole.length >> 1] as number) ^ 1
    const wrong: Array<[Buffer, number, string]> = [
      [flipped, 1, 'the backup is damaged'],
      [whole.subarray(0, whole.length - 3_000), 1, 'the backup is cut off'],
      [Buffer.alloc(5_000, 'a letter'), 2, 'this is not a backup'],
    ]
    for (const [bytes, code, sentence] of wrong) {
      const { stderr, ...end } = await run(await written('wrong.tar', bytes))
      expect({ ...end, stderr }).toMatchObject({
        code,
        stdout: '',
        stderr: expect.stringContaining(sentence),
      })
    }
    await expectLeft([])
  })

  it('is refused when its restored rows differ from its content', async () => {
    const target = await openTestDatabase()
    onTestFinished(() => target.close())
    // A type that gives every value blanks at its end.
    await queryOnce(target.url, 'alter table training.raw_documents alter column sha256 type char(9)')
    await expect(restoreInto(target.url, whole, { compare: true })).rejects.toMatchObject({
      code: 'backup_differs',
      message: expect.stringContaining('training.raw_documents'),
    })
  })

  it('uses an embedded Postgres where no database can be created', async () => {
    const role = `small_${Date.now()}`
    await queryOnce(source.url, `create role ${role} login password 'x' nocreatedb`)
    onTestFinished(async () => void (await queryOnce(source.url, `drop role ${role}`)))
    const small = new URL(source.url)
    small.username = role
    small.password = 'x'
    for (const url of [small.href, null]) {
      expect(await verify(file, url)).toMatchObject({ tables: expect.any(Array) })
      expect(await readdir(join(folder.path, 'data'))).toEqual([])
    }
  })

  it('removes the remains of killed verifications, and nothing in use', async () => {
    const old = `musette_verify_${Date.now() - 7_200_000}_ab`
    const young = `musette_verify_${Date.now()}_cd`
    for (const name of [old, young]) await queryOnce(source.url, `create database ${name}`)
    onTestFinished(async () => void (await queryOnce(source.url, `drop database ${young}`)))
    const data = join(folder.path, 'data')
    await mkdir(join(data, 'verify-killed'), { recursive: true })
    await mkdir(join(data, 'verify-young'))
    const earlier = new Date(Date.now() - 7_200_000)
    await utimes(join(data, 'verify-killed'), earlier, earlier)
    await verify()
    await expectLeft([young])
    await verify(file, null)
    expect(await readdir(data)).toEqual(['verify-young'])
  })
})
