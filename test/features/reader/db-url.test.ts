import { execFile } from 'node:child_process'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { holdDatabase } from '../../../src/features/reader/shared-database.ts'
import { openLocalApp } from '../../../src/program/app/local-app.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForAll, openForEach } from '../../kit/open-for.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath, listProcessesNaming, runNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

const log = makeSilentLog()
const run = promisify(execFile)
const ONE = 'select 1 as one'
/** Creating a database takes seconds, so each test copies this unused one. */
const first = openForAll(() => openTempDir('db-url-first'))
const folder = openForEach(() => openTempDir('db-url'))
beforeAll(async () => {
  const config = readConfig({ MUSETTE_DATA_DIR: first.path })
  await (await openLocalApp(config, log, undefined, 'set-up')).close()
})
beforeEach(() => run('cp', ['-a', `${first.path}/.`, folder.path]))
afterEach(async () => {
  for (const { pid } of await listProcesses('db-hold')) process.kill(pid, 'SIGTERM')
  await eventually(async () => (await listProcessesNaming(folder.path)).length === 0)
  await eventually(async () => (await listProcesses('db-hold')).length === 0)
})

const env = () => ({ MUSETTE_DATA_DIR: folder.path })
const config = () => readConfig(env())
const dbUrl = (...args: string[]) => runNode([distPath('main.js'), 'db-url', ...args], { env: env() })

describe('musette db-url', () => {
  it('prints a password file for psql, and never the password', async () => {
    const { code, stdout } = await dbUrl()
    expect(code).toBe(0)
    const { port, password } = JSON.parse(await readFile(join(folder.path, 'postgres.json'), 'utf8'))
    expect(stdout.trim()).toBe(
      `postgres://musette@127.0.0.1:${port}/musette?passfile=${encodeURIComponent(join(folder.path, 'postgres.pgpass'))}`,
    )
    expect((await stat(join(folder.path, 'postgres.pgpass'))).mode & 0o777).toBe(0o600)
    const psql = await run('psql', [stdout.trim(), '--no-password', '-Atc', 'select current_user, version()'])
    expect(psql.stdout).toMatch(/^musette\|PostgreSQL 18/)
    // Neither the server, its watchdog nor the background process shows the password to other users.
    const processes = await listProcesses('')
    expect(processes.filter(({ args, environment }) => `${args} ${environment}`.includes(password))).toEqual(
      [],
    )
    const whole = await dbUrl('--with-password')
    expect(whole.stdout.trim()).toBe(`postgres://musette:${password}@127.0.0.1:${port}/musette`)
    expect(await queryOnce(whole.stdout.trim(), ONE)).toEqual([{ one: 1 }])
    const refused = await runVerb(['status'], { env: { ...env(), DATABASE_URL: stdout.trim() } })
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('DATABASE_URL has none') })
  })

  it('starts one background process, replaces it if killed, and reports a failed start', async () => {
    const holders = async () => (await listProcesses('db-hold')).map(({ pid }) => pid)
    const end = async (signal: NodeJS.Signals) => {
      for (const pid of await holders()) process.kill(pid, signal)
    }
    const urls = await Promise.all([dbUrl(), dbUrl(), dbUrl()])
    expect(urls.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(new Set(urls.map(({ stdout }) => stdout)).size).toBe(1)
    await eventually(async () => (await holders()).length === 1)
    const first = await holders()
    expect(await dbUrl()).toMatchObject({ code: 0 })
    expect(await holders()).toEqual(first)
    await end('SIGKILL')
    expect((await dbUrl()).stdout).toBe(urls[0]?.stdout)
    expect(await holders()).toHaveLength(1)
    await end('SIGTERM')
    await eventually(async () => (await listProcessesNaming(folder.path)).length === 0)
    await rm(join(folder.path, 'postgres/PG_VERSION'))
    const said = expect.stringContaining('is damaged: it has no PG_VERSION')
    expect(await dbUrl()).toMatchObject({ code: 2, stderr: said })
  })
})

describe('the background process of db-url', () => {
  const hold = (idleMs: number, signal = new AbortController().signal, report = () => {}) =>
    holdDatabase({ config: config(), log, report }, { signal, idleMs, lookEveryMs: 20 })

  it('runs while another program is connected, and exits when none is', async () => {
    const daemon = await openLocalApp(config(), log)
    let gone = false
    const asking = queryOnce(daemon.databaseUrl, 'select pg_sleep(1)')
    const held = hold(100).then(() => {
      gone = true
    })
    await asking
    expect(gone).toBe(false)
    await held
    expect(await queryOnce(daemon.databaseUrl, ONE)).toEqual([{ one: 1 }])
    await daemon.close()
    expect(await listProcessesNaming(folder.path)).toEqual([])
  })

  it('exits when its folder is removed', async () => {
    const held = await new Promise<{ end: Promise<void> }>((resolve) => {
      const end = hold(600_000, undefined, () => resolve({ end }))
    })
    await rm(folder.path, { recursive: true, force: true, maxRetries: 20 })
    await held.end
  })
})

/** Lists processes whose command line contains `text` and whose environment names the folder; all processes if `text` is empty. */
async function listProcesses(text: string) {
  const found: Array<{ pid: number; args: string; environment: string }> = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const args = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')
    const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '')
    if (text !== '' && !(args.includes(text) && environment.includes(folder.path))) continue
    found.push({ pid: Number(name), args, environment })
  }
  return found
}
