import { execFile } from 'node:child_process'
import { chmod, chown, link, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { removeOwnDirectory } from '../../src/embedded/run-as.ts'
import { eventually } from '../kit/eventually.ts'
import { makeSilentLog } from '../kit/log.ts'
import { openForEach } from '../kit/open-for.ts'
import { findOrdinaryUser } from '../kit/ordinary-user.ts'
import { queryOnce } from '../kit/postgres.ts'
import { distPath, listProcessesNaming, startNode } from '../kit/processes.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { startChild } from './owner-child.ts'

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))

const log = makeSilentLog()
const folder = openForEach(() => openTempDir('users'))
let dataDir: string
beforeEach(() => {
  dataDir = join(folder.path, 'data')
})
const desertion = () => eventually(async () => (await listProcessesNaming(folder.path)).length === 0)
afterEach(desertion)

it('an ordinary user gets no second database if a file is unreadable, and the command that repairs that', async () => {
  const prefix = await findOrdinaryUser()
  await chmod(folder.path, 0o777)
  const first = startChild(dataDir, 'insert', { prefix })
  // The first start creates the files of a server.
  await first.waitForLine(/^committed 5$/, 90_000)
  await first.kill('SIGKILL')
  await desertion()
  const path = join(dataDir, 'postgres.json')
  await chmod(path, 0o000)
  const { stderr } = await startChild(dataDir, 'wait', { prefix }).finished
  const command = new RegExp(
    `cannot use ${path} in the data directory \\(EACCES\\).*run: (chmod u\\+rwX ${path})`,
  ).exec(stderr)?.[1]
  expect(stderr).not.toContain('set MUSETTE_DATA_DIR')
  const [program = '', ...rest] = [...prefix, 'sh', '-c', command ?? 'false']
  await promisify(execFile)(program, rest)
  const second = startChild(dataDir, 'wait', { prefix })
  const { url } = await second.opened
  const [row] = await queryOnce(url, 'SELECT count(*)::int AS count FROM committed')
  expect(row?.count).toBeGreaterThanOrEqual(5)
  expect(await second.kill('SIGTERM')).toMatchObject({ code: 0, stderr: '' })
})

it('a data directory of another user is refused with a plain sentence', async () => {
  const prefix = await findOrdinaryUser()
  await mkdir(dataDir)
  await chmod(folder.path, 0o755)
  await chmod(dataDir, 0o555)
  const { stderr } = await startChild(dataDir, 'wait', { prefix }).finished
  expect(stderr).toContain('embedded_directory')
  expect(stderr).toMatch(/run: (sudo chown -R "\$\(id -un\)"|chmod u\+rwX) /)
})

// Only a test that runs as root can show that root gives up its rights.
if (process.getuid?.() === 0) {
  it('as root, the server runs without rights, even in a folder of root, and no hard-linked file changes its owner', async () => {
    await mkdir(dataDir, { mode: 0o755 })
    const uids: number[] = []
    const victim = join(folder.path, 'victim')
    await writeFile(victim, '')
    // Under a folder that only root can enter, as for temporary clones, no other user can reach the binaries either.
    const isOpen = await othersCanEnter(CHECKOUT)
    for (const mode of [0o755, 0o700, 0o755]) {
      await chmod(folder.path, mode)
      // The third time, these files belong to root, and one of them has a second name elsewhere.
      if (mode === 0o755) await link(victim, join(dataDir, 'postgres/victim')).catch(() => undefined)
      const database = await openEmbeddedPostgres({ log }, { dataDir })
      await queryOnce(database.url, 'CREATE TABLE IF NOT EXISTS kept (number int)')
      await queryOnce(database.url, 'INSERT INTO kept VALUES (1)')
      const [pid = ''] = (await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')
      // The kernel's view of the process decides; inside its own user namespace, its rights do not count here.
      const [, user] = /^Uid:\t(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
      const { uid } = await stat(join(dataDir, 'postgres'))
      expect(uid).toBe(Number(user))
      uids.push(uid)
      const [row] = await queryOnce(database.url, 'SELECT count(*)::int AS count FROM kept')
      expect(row?.count).toBe(uids.length)
      await database.close()
    }
    expect(uids.map((uid) => uid > 0)).toEqual([isOpen, false, isOpen])
    expect(await stat(victim)).toMatchObject({ uid: 0, nlink: 2 })
  })

  it('as root, a command leaves the database of another user to that user', async () => {
    const prefix = await findOrdinaryUser()
    if (prefix[0] !== 'setpriv') return
    await mkdir(dataDir)
    await chmod(folder.path, 0o755)
    await chown(dataDir, 65534, 65534)
    const env = { MUSETTE_DATA_DIR: dataDir, MUSETTE_HTTP: 'off' }
    const daemon = startNode([distPath('main.js'), 'start', '--roles', 'watcher'], { env })
    await daemon.waitForLine(/"started"/)
    expect(await daemon.kill()).toMatchObject({ code: 0 })
    const names = await readdir(dataDir, { recursive: true })
    const owners = await Promise.all(names.map(async (name) => (await stat(join(dataDir, name))).uid))
    expect(names).toContain('postgres.json')
    expect([...new Set(owners)]).toEqual([65534])
    const again = startChild(dataDir, 'wait', { prefix })
    await again.opened
    expect(await again.kill('SIGTERM')).toMatchObject({ code: 0 })
  })

  it('as root, the files of the server are removed with its rights, and nothing outside', async () => {
    await mkdir(dataDir)
    await chmod(folder.path, 0o755)
    await mkdir(join(dataDir, 'postgres.new/base'), { recursive: true })
    await writeFile(join(folder.path, 'victim'), '')
    await symlink(folder.path, join(dataDir, 'postgres.new/link'))
    await promisify(execFile)('chown', ['-hR', '65534:65534', join(dataDir, 'postgres.new')])
    // The owner may not remove what another user has put into the folder.
    await mkdir(join(dataDir, 'postgres.new/base/of root'))
    await writeFile(join(dataDir, 'postgres.new/base/of root/file'), '')
    await expect(removeOwnDirectory(join(dataDir, 'postgres.new'))).rejects.toThrow('ENOTEMPTY')
    expect(await readdir(join(dataDir, 'postgres.new'))).toEqual(['base'])
    await rm(join(dataDir, 'postgres.new/base/of root'), { recursive: true })
    await removeOwnDirectory(join(dataDir, 'postgres.new'))
    expect(await readdir(dataDir)).toEqual([])
    expect(await readdir(folder.path)).toEqual(['data', 'victim'])
  })
}

async function othersCanEnter(path: string): Promise<boolean> {
  const { mode } = await stat(path)
  return (mode & 0o001) !== 0 && (path === '/' || othersCanEnter(dirname(path)))
}
