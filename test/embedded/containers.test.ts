import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { acquireLock } from '../../src/embedded/lock.ts'
import { eventually } from '../kit/eventually.ts'
import { makeSilentLog } from '../kit/log.ts'
import { openForAll, openForEach } from '../kit/open-for.ts'
import { queryOnce } from '../kit/postgres.ts'
import { distPath, listProcessesNaming, runNode, startNode } from '../kit/processes.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { copyMade, openMade } from './made.ts'
import { type Child, startChild } from './owner-child.ts'

/** The namespaces of a container: for processes and shared memory, and also for the network. */
const CONTAINER = ['unshare', '-p', '-f', '--mount-proc', '-i', '--kill-child']
const ALONE = [...CONTAINER, '-n']
const canUnshare = spawnSync(ALONE[0] ?? '', [...ALONE.slice(1), 'true']).status === 0

const made = openForAll(openMade)
const folder = openForEach(() => openTempDir('containers'))
const children: Child[] = []
const databases: EmbeddedPostgres[] = []
const log = makeSilentLog()
const start = (prefix: readonly string[]) => {
  const child = startChild(folder.path, 'insert', { prefix })
  children.push(child)
  return child
}
const open = async () => {
  const database = await openEmbeddedPostgres({ log }, { dataDir: folder.path })
  databases.push(database)
  return database
}
const read = (name: string) => readFile(join(folder.path, name), 'utf8')
const countOf = async (url: string) =>
  Number((await queryOnce(url, 'SELECT count(*)::int AS count FROM committed'))[0]?.count)

beforeEach(() => copyMade(made, folder))
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill('SIGKILL')))
  for (const database of databases.splice(0)) await database.close()
  await eventually(async () => (await listProcessesNaming(folder.path)).length === 0)
})

/** Another boot of the machine, as far as a process can see. */
async function onAnotherBoot(prefix: readonly string[]): Promise<readonly string[]> {
  const file = join(folder.path, 'boot_id')
  await writeFile(file, '00000000-0000-4000-8000-000000000000\n')
  const script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'
  return [...prefix, 'sh', '-c', script, file]
}

describe.runIf(canUnshare)('a server in another container', () => {
  it('is joined on a shared network, and replaced after it has ended', async () => {
    const first = start(CONTAINER)
    const { url } = await first.opened
    const before = await read('postgres/postmaster.pid')
    const second = await open()
    expect(second).toMatchObject({ url, owned: false })
    expect(await read('postgres/postmaster.pid')).toBe(before)
    await first.waitForLine(/^committed 20$/)
    await first.kill('SIGKILL')
    await eventually(() => second.owned, { what: 'the take-over' })
    expect(await countOf(url)).toBeGreaterThanOrEqual(20)
  })

  it('is named if it runs on another boot, and its files stay', async () => {
    const first = start(await onAnotherBoot(CONTAINER))
    await first.waitForLine(/^committed 5$/)
    const before = await read('postgres/postmaster.pid')
    // The holder looks like a server that had enough time to start.
    const owner = JSON.parse(await read('postgres.owner'))
    const holder = { ...owner, since: '2026-01-02T03:04:05Z', enter: 'docker exec 0123456789ab' }
    await writeFile(join(folder.path, 'postgres.owner'), JSON.stringify(holder))
    const env = { MUSETTE_DATA_DIR: folder.path, MUSETTE_HTTP: 'off' }
    const verbs = [['status'], ['start', '--take-over'], ['db-url']]
    const ran = await Promise.all(
      verbs.map((verb) => runNode([distPath('main.js'), ...verb], { env, prefix: ALONE })),
    )
    for (const { code, stdout, stderr } of ran) {
      const said = `${stdout}${stderr}`
      expect(said).toMatch(/\(process 1 on .+\) since 2026-01-02 03:04 UTC runs the embedded Postgres/)
      expect(said).toContain('run: docker exec 0123456789ab musette status')
      expect(code).toBe(4)
    }
    expect(await read('postgres/postmaster.pid')).toBe(before)
    await first.waitForLine(/^committed 50$/)
    await first.kill('SIGKILL')
    expect((await open()).owned).toBe(true)
  })

  it('keeps its lock and its files while it is stopped', async () => {
    const first = start(CONTAINER)
    await first.waitForLine(/^committed 5$/)
    const before = await read('postgres/postmaster.pid')
    for (const line of await listProcessesNaming(folder.path))
      process.kill(Number.parseInt(line, 10), 'SIGSTOP')
    expect(await acquireLock(folder.path, 'owner', { takeOver: true })).toBeUndefined()
    expect(await read('postgres/postmaster.pid')).toBe(before)
  })

  it('is left alone if its folder only has the same path', async () => {
    await mkdir(join(folder.path, 'other/postgres'), { recursive: true })
    // A process is named after the file that it is started from.
    const copy = 'cp "$(command -v sleep)" "$1/postgres/postgres" && cd "$1/postgres"'
    const script = `mount --bind "$1/other" "$1" && ${copy} && echo ready && exec ./postgres 60`
    const other = spawn('unshare', ['-m', 'bash', '-c', script, 'bash', folder.path])
    onTestFinished(() => void other.kill('SIGKILL'))
    await once(other.stdout, 'data')
    expect((await open()).owned).toBe(true)
    expect(other.exitCode ?? other.signalCode).toBeNull()
  })
})

it('without kernel locks, the command named by status starts a database that ran elsewhere', async () => {
  const env = { MUSETTE_DATA_DIR: folder.path, MUSETTE_HTTP: 'off', PATH: join(folder.path, 'nothing') }
  const token = randomUUID()
  const holder = {
    pid: 1,
    startedAt: 'then',
    token,
    place: 'another boot',
    host: 'nas',
    since: '2026-01-02T03:04:05Z',
  }
  await writeFile(join(folder.path, 'postgres.owner'), JSON.stringify(holder))
  const { code, stderr } = await runNode([distPath('main.js'), 'status'], { env })
  expect(stderr).toContain('musette (process 1 on nas) since 2026-01-02 03:04 UTC runs the embedded Postgres')
  expect(code).toBe(4)
  const [, command = ''] = /run: MUSETTE_DATA_DIR=\S+ musette (start --take-over)$/m.exec(stderr) ?? []
  const daemon = startNode([distPath('main.js'), ...command.split(' ')], { env })
  await daemon.waitForLine(/embedded Postgres is ready/)
  expect(await daemon.kill()).toMatchObject({ code: 0 })
})
