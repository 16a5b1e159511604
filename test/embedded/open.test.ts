import { execFile } from 'node:child_process'
import { appendFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openEmbeddedPostgres, readSharedUrl } from '../../src/embedded/embedded.ts'
import { eventually } from '../kit/eventually.ts'
import { makeTestLog } from '../kit/log.ts'
import { queryOnce } from '../kit/postgres.ts'
import { listProcessesNaming } from '../kit/processes.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'

const { log } = makeTestLog()

/** Has the files of a server that was made and closed: to make them takes longer than most of a test. */
let made: TempDir
let folder: TempDir
beforeAll(async () => {
  made = await openTempDir('made')
  const database = await openEmbeddedPostgres({ log }, { dataDir: made.path })
  await queryOnce(database.url, 'CREATE TABLE kept (number int)')
  await database.close()
})
afterAll(() => made.close())
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
/** Puts the files of the closed server into the folder, with their owners. */
const copyMade = () => promisify(execFile)('cp', ['-a', `${made.path}/.`, folder.path])

describe('openEmbeddedPostgres', () => {
  it('makes a database, and has its rows the next time at the same URL', async () => {
    const first = await open()
    await queryOnce(first.url, 'CREATE TABLE ride (name text)')
    await queryOnce(first.url, `INSERT INTO ride VALUES ('Über den Pass')`)
    await first.close()
    expect(await listProcessesNaming(folder.path)).toEqual([])

    const second = await open()
    expect(second.url).toBe(first.url)
    expect(await queryOnce(second.url, 'SELECT name FROM ride')).toEqual([{ name: 'Über den Pass' }])
    await second.close()
  })

  it('checks pages, orders text by code point, and listens on 127.0.0.1 only, with a password', async () => {
    const shared = () => readSharedUrl(folder.path, { withPassword: true })
    expect(await shared()).toBeUndefined()
    await copyMade()
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
      checksums: 'on',
      addresses: '127.0.0.1',
      sockets: '',
      locale: 'bC.UTF-8',
      methods: 'scram-sha-256',
    })
    const wrong = new URL(database.url)
    wrong.password = 'guess'
    await expect(queryOnce(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' })
    expect(await shared(), 'the URL for others while it runs').toBe(database.url.split('?')[0])
    await database.close()
    expect(await shared(), 'the URL for others after its end').toBeUndefined()
    expect(await readSharedUrl(join(folder.path, 'nowhere'), { withPassword: true })).toBeUndefined()
    const { password } = new URL(database.url)
    expect((await stat(join(folder.path, 'postgres.json'))).mode & 0o777).toBe(0o600)
    expect((await stat(join(folder.path, 'postgres'))).mode & 0o777).toBe(0o700)
    expect(await readFile(join(folder.path, 'postgres.log'), 'utf8')).not.toContain(password)
    expect(text()).toContain('embedded Postgres is ready')
    expect(text()).not.toContain(password)
  })

  it('sets a new password when the file with the old one was lost', async () => {
    await copyMade()
    const path = join(folder.path, 'postgres.json')
    const { password } = JSON.parse(await readFile(path, 'utf8'))
    await rm(path)
    const second = await open()
    expect(new URL(second.url).password).not.toBe(password)
    expect(await queryOnce(second.url, 'SELECT number FROM kept')).toEqual([])
    await second.close()
  })

  it('says what to do when the stored password does not fit the database', async () => {
    await copyMade()
    const path = join(folder.path, 'postgres.json')
    const kept = JSON.parse(await readFile(path, 'utf8'))
    await writeFile(path, JSON.stringify({ ...kept, password: '0'.repeat(48) }))
    await expect(open()).rejects.toMatchObject({ name: 'ConfigError', code: 'embedded_password' })
    await rm(path)
    await (await open()).close()
  })

  it('moves to another port when its own was taken in the meantime', async () => {
    await copyMade()
    const taken = Number(JSON.parse(await readFile(join(folder.path, 'postgres.json'), 'utf8')).port)
    const closeListener = await listenOn(taken)
    const second = await open()
    expect(Number(new URL(second.url).port)).not.toBe(taken)
    expect(await queryOnce(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await second.close()
    await closeListener()
  })

  it('says so when the requested port is taken', async () => {
    await copyMade()
    const closeListener = await listenOn(0)
    const port = closeListener.port
    await expect(open(port)).rejects.toMatchObject({ name: 'ConfigError', code: 'embedded_port_taken' })
    await closeListener()
    const database = await open(port)
    expect(new URL(database.url).port).toBe(String(port))
    await database.close()
  })

  it('leaves no process and no claim behind when the opening is aborted', async () => {
    const stop = AbortSignal.timeout(1)
    await expect(openEmbeddedPostgres({ log, signal: stop }, { dataDir: folder.path })).rejects.toMatchObject(
      { name: 'TimeoutError' },
    )
    expect(await listProcessesNaming(folder.path)).toEqual([])
    await (await open()).close()
  })

  it('begins a new server log when the old one has grown past 5 MB', async () => {
    await copyMade()
    await writeFile(join(folder.path, 'postgres.log'), 'x'.repeat(6 * 1024 * 1024))
    await (await open()).close()
    expect((await stat(join(folder.path, 'postgres.log.1'))).size).toBe(6 * 1024 * 1024)
    expect((await stat(join(folder.path, 'postgres.log'))).size).toBeLessThan(100_000)
  })

  it('begins a new server log also while it runs', async () => {
    await copyMade()
    const database = await open()
    const path = join(folder.path, 'postgres.log')
    await appendFile(path, 'x'.repeat(6 * 1024 * 1024))
    const isShort = async () => (await stat(path)).size < 100_000
    await eventually(isShort, { what: 'a new log', timeoutMs: 30_000 })
    expect((await stat(`${path}.1`)).mode & 0o777).toBe(0o600)
    const wrong = new URL(database.url)
    wrong.password = 'guess'
    await expect(queryOnce(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' })
    expect(await readFile(path, 'utf8')).toContain('password authentication failed')
    await database.close()
  })

  it('starts again after a crash during the creation of its files', async () => {
    await copyMade()
    await rename(join(folder.path, 'postgres'), join(folder.path, 'postgres.new'))
    await rm(join(folder.path, 'postgres.new/global'), { recursive: true })
    const second = await open()
    expect(await queryOnce(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await second.close()
  })

  it('says what to do with a folder of other files', async () => {
    await mkdir(join(folder.path, 'postgres'))
    await writeFile(join(folder.path, 'postgres/notes.txt'), 'mine')
    await expect(open()).rejects.toMatchObject({ name: 'ConfigError', code: 'embedded_damaged' })
    expect(await readFile(join(folder.path, 'postgres/notes.txt'), 'utf8')).toBe('mine')
    await rm(join(folder.path, 'postgres/notes.txt'))
    await writeFile(join(folder.path, 'postgres/PG_VERSION'), '19\n')
    await expect(open()).rejects.toMatchObject({
      name: 'ConfigError',
      code: 'embedded_version',
      message: expect.stringMatching(
        /from Postgres 19, and this musette reads those of 18; keep them.*a Postgres 19/,
      ),
    })
  })
})

async function listenOn(wanted: number): Promise<(() => Promise<void>) & { port: number }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(wanted, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return Object.assign(() => new Promise<void>((resolve) => server.close(() => resolve())), { port })
}
