import { appendFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openEmbeddedPostgres, readSharedUrl } from '../../src/embedded/embedded.ts'
import { eventually } from '../kit/eventually.ts'
import { makeTestLog } from '../kit/log.ts'
import { openForAll } from '../kit/open-for.ts'
import { queryOnce } from '../kit/postgres.ts'
import { listProcessesNaming } from '../kit/processes.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'
import { copyMade, openMade } from './made.ts'

const { log } = makeTestLog()
const LONG = 'x'.repeat(6 * 1024 * 1024)

const made = openForAll(() => openMade())
let folder: TempDir
const place = (name: string) => join(folder.path, name)
beforeEach(async () => {
  folder = await openTempDir('embedded')
})
afterEach(async () => {
  const left = await listProcessesNaming(folder.path)
  await folder.close()
  expect(left).toEqual([])
})

const open = (port?: number) =>
  openEmbeddedPostgres({ log }, { dataDir: folder.path, ...(port ? { port } : {}) })
const isKept = async (url: string) => expect(await queryOnce(url, 'SELECT number FROM kept')).toEqual([])
const withPassword = (url: string, password: string) => Object.assign(new URL(url), { password }).href

describe('openEmbeddedPostgres', () => {
  it('leaves no process and no lock after an aborted opening, then creates a database', async () => {
    const aborted = openEmbeddedPostgres({ log, signal: AbortSignal.timeout(1) }, { dataDir: folder.path })
    await expect(aborted).rejects.toMatchObject({ name: 'TimeoutError' })
    expect(await listProcessesNaming(folder.path)).toEqual([])
    const database = await open()
    await queryOnce(database.url, `CREATE TABLE ride AS SELECT 'Über den Pass' AS name`)
    expect(await queryOnce(database.url, 'SELECT name FROM ride')).toEqual([{ name: 'Über den Pass' }])
    await database.close()
  })

  it('checks pages, sorts text by code point, and listens only on 127.0.0.1, with a password', async () => {
    const shared = () => readSharedUrl(folder.path, { withPassword: true })
    expect(await shared()).toBeUndefined()
    await copyMade(made, folder)
    const { log: supervise, text } = makeTestLog()
    const database = await openEmbeddedPostgres({ log: supervise }, { dataDir: folder.path })
    const [settings] = await queryOnce(
      database.url,
      `SELECT current_setting('data_checksums') AS checksums, current_setting('listen_addresses') AS addresses,
        current_setting('unix_socket_directories') AS sockets,
        (SELECT datlocprovider::text || datlocale FROM pg_database WHERE datname = 'musette') AS locale,
        (SELECT string_agg(DISTINCT auth_method, ',') FROM pg_hba_file_rules) AS methods`,
    )
    expect(settings).toEqual({
      ...{ checksums: 'on', addresses: '127.0.0.1', sockets: '' },
      ...{ locale: 'bC.UTF-8', methods: 'scram-sha-256' },
    })
    const guess = queryOnce(withPassword(database.url, 'guess'), 'SELECT 1')
    await expect(guess).rejects.toMatchObject({ code: '28P01' })
    expect(await shared(), 'the URL for others while it runs').toBe(database.url.split('?')[0])
    await database.close()
    expect(await shared(), 'the URL for others after its end').toBeUndefined()
    const { password } = new URL(database.url)
    expect((await stat(place('postgres.json'))).mode & 0o777).toBe(0o600)
    expect((await stat(place('postgres'))).mode & 0o777).toBe(0o700)
    expect(await readFile(place('postgres.log'), 'utf8')).not.toContain(password)
    expect(text()).toContain('embedded Postgres is ready')
    expect(text()).not.toContain(password)
  })

  it('sets a new password if the password file is lost, and reports a stored password that is wrong', async () => {
    await copyMade(made, folder)
    const kept = JSON.parse(await readFile(place('postgres.json'), 'utf8'))
    await writeFile(place('postgres.json'), JSON.stringify({ ...kept, password: '0'.repeat(48) }))
    await expect(open()).rejects.toMatchObject({ name: 'ConfigError', code: 'embedded_password' })
    await rm(place('postgres.json'))
    const second = await open()
    expect(new URL(second.url).password).not.toBe(kept.password)
    await isKept(second.url)
    await second.close()
  })

  it('moves to another port if its own is in use, and reports a requested port that is in use', async () => {
    await copyMade(made, folder)
    const taken = Number(JSON.parse(await readFile(place('postgres.json'), 'utf8')).port)
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(taken, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    await expect(open(taken)).rejects.toMatchObject({ name: 'ConfigError', code: 'embedded_port_taken' })
    const second = await open()
    expect(Number(new URL(second.url).port)).not.toBe(taken)
    await isKept(second.url)
    await second.close()
    await new Promise((resolve) => server.close(resolve))
    const third = await open(taken)
    expect(new URL(third.url).port).toBe(String(taken))
    await third.close()
  })

  it('begins a new server log even while the server runs', async () => {
    await copyMade(made, folder)
    await writeFile(place('postgres.log'), LONG)
    const database = await open()
    const isShort = async () => (await stat(place('postgres.log'))).size < 100_000
    expect([await isShort(), (await stat(place('postgres.log.1'))).size]).toEqual([true, LONG.length])
    await appendFile(place('postgres.log'), LONG)
    await eventually(isShort, { what: 'a new log', timeoutMs: 30_000 })
    expect((await stat(place('postgres.log.1'))).mode & 0o777).toBe(0o600)
    const guess = queryOnce(withPassword(database.url, 'guess'), 'SELECT 1')
    await expect(guess).rejects.toMatchObject({ code: '28P01' })
    expect(await readFile(place('postgres.log'), 'utf8')).toContain('password authentication failed')
    await database.close()
  })

  it('starts after a crash during the creation of its files', async () => {
    await copyMade(made, folder)
    await rename(place('postgres'), place('postgres.new'))
    await rm(place('postgres.new/global'), { recursive: true })
    const second = await open()
    expect(await queryOnce(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await second.close()
  })

  it.each([
    ['other files', 'notes.txt', 'mine', 'embedded_damaged', /./],
    [
      'a later Postgres',
      'PG_VERSION',
      '19\n',
      'embedded_version',
      /from Postgres 19, .*18; keep them.*your own Postgres 19/,
    ],
  ])(
    'says what to do with a folder of %s, and does not change it',
    async (_what, name, text, code, message) => {
      await mkdir(place('postgres'))
      await writeFile(place(`postgres/${name}`), text)
      const refusal = { name: 'ConfigError', code, message: expect.stringMatching(message) }
      await expect(open()).rejects.toMatchObject(refusal)
      expect(await readFile(place(`postgres/${name}`), 'utf8')).toBe(text)
    },
  )
})
