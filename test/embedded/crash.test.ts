import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type EmbeddedPostgres, openEmbeddedPostgres, readSharedUrl } from '../../src/embedded/embedded.ts'
import { acquireLock } from '../../src/embedded/lock.ts'
import { eventually } from '../kit/eventually.ts'
import { makeTestLog } from '../kit/log.ts'
import { openForAll, openForEach } from '../kit/open-for.ts'
import { queryOnce } from '../kit/postgres.ts'
import { listProcessesNaming } from '../kit/processes.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { copyMade, openMade } from './made.ts'
import { type Child, startChild } from './owner-child.ts'

const made = openForAll(openMade)
const folder = openForEach(() => openTempDir('embedded'))
const children: Child[] = []
const databases: EmbeddedPostgres[] = []
const { log, lines } = makeTestLog()
const open = async () => {
  const database = await openEmbeddedPostgres({ log }, { dataDir: folder.path })
  databases.push(database)
  return database
}
const start = (then?: 'insert') => {
  const child = startChild(folder.path, then)
  children.push(child)
  return child
}
const shared = () => readSharedUrl(folder.path, { withPassword: true })
const desertion = () =>
  eventually(async () => (await listProcessesNaming(folder.path)).length === 0, {
    timeoutMs: 10_000,
    what: 'the end of all processes',
  })
const isKept = async (url: string) => expect(await queryOnce(url, 'SELECT number FROM kept')).toEqual([])

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill('SIGKILL')))
  const opened = databases.splice(0).sort((a, b) => Number(a.owned) - Number(b.owned))
  for (const database of opened) await database.close()
  await desertion()
})

it('has one server if several processes open an empty folder at once, one of them several times', async () => {
  const all = await Promise.all([open(), open(), ...[1, 2].map(() => start().opened)])
  expect(new Set(all.map(({ url }) => url)).size).toBe(1)
  expect(all.filter(({ owned }) => owned)).toHaveLength(1)
  const postmasters = (await listProcessesNaming(folder.path)).filter((line) =>
    line.includes('bin/postgres -D'),
  )
  expect(postmasters).toHaveLength(1)
})

describe('the files of a server', () => {
  beforeEach(() => copyMade(made, folder))

  it('stop their server when its owner is killed, and keep every acknowledged row', async () => {
    let last = 0
    for (const round of [1, 2]) {
      const child = start('insert')
      await child.waitForLine(new RegExp(`^committed ${last + 50}$`))
      const { stdout } = await child.kill('SIGKILL')
      last = Number(/committed (\d+)\n(?!.*committed \d+\n)/s.exec(stdout)?.[1])
      // In the last round, the watchdog stops the server; before that, the next owner finds it running.
      if (round === 2) await desertion()
    }
    const { url } = await open()
    const [found] = await queryOnce(url, 'SELECT count(*)::int AS count, max(number) AS last FROM committed')
    expect(found?.count).toBe(found?.last)
    expect(Number(found?.last)).toBeGreaterThanOrEqual(last)
    // One row may have been committed although its answer was lost with its process.
    expect(Number(found?.last)).toBeLessThanOrEqual(last + 1)
    // The end of a process does not show what a power cut would lose.
    const safety = await queryOnce(
      url,
      `SELECT name || ' ' || setting AS text FROM pg_settings
       WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums') AND setting <> 'on'`,
    )
    expect(safety).toEqual([])
  })

  it('replaces a server that outlived its owner and its watchdog', async () => {
    const child = start('insert')
    const { url } = await child.opened
    await child.waitForLine(/^committed 10$/)
    await killAll('musette-watchdog')
    await child.kill('SIGKILL')
    expect(await shared()).toBe(url.split('?')[0])
    expect(await acquireLock(folder.path), 'the lock, which the server has').toBeUndefined()
    const before = await readFile(join(folder.path, 'postgres/postmaster.pid'), 'utf8')

    const reopened = await open()
    expect(reopened).toMatchObject({ url, owned: true })
    const after = await readFile(join(folder.path, 'postgres/postmaster.pid'), 'utf8')
    expect(after.split('\n')[0]).not.toBe(before.split('\n')[0])
    const [found] = await queryOnce(url, 'SELECT count(*)::int AS count FROM committed')
    expect(Number(found?.count)).toBeGreaterThanOrEqual(10)
  })

  it('starts despite a foreign process in postmaster.pid and a damaged owner file', async () => {
    const stale = `${process.pid}\n${folder.path}/postgres\n1700000000\n5432\n\n127.0.0.1\n 1 1\nready\n`
    await writeFile(join(folder.path, 'postgres/postmaster.pid'), stale)
    await writeFile(join(folder.path, 'postgres.owner'), '{"pid":')
    const { url, owned } = await open()
    expect(owned).toBe(true)
    await isKept(url)
    const owner = JSON.parse(await readFile(join(folder.path, 'postgres.owner'), 'utf8'))
    expect(owner).toMatchObject({ pid: process.pid })
  })

  it('restarts a killed server at the same URL', async () => {
    const { url } = await open()
    await killAll('bin/postgres -D')
    expect(await acquireLock(folder.path)).toBeUndefined()
    expect(await eventually(() => queryOnce(url, 'SELECT number FROM kept'), { what: 'an answer' })).toEqual(
      [],
    )
    expect(lines).toContainEqual(expect.objectContaining({ level: 'error', how: 'SIGKILL' }))
  })

  it('joins the server of another process, leaves it running, and takes it over when its owner closes it', async () => {
    const owner = start()
    const { url } = await owner.opened
    const joined = await open()
    expect(joined).toMatchObject({ url, owned: false })
    await joined.close()
    expect(await shared()).toBe(url.split('?')[0])
    const other = await open()
    expect(await owner.kill('SIGTERM')).toMatchObject({ code: 0 })
    await eventually(() => other.owned, { what: 'the take-over' })
    await isKept(other.url)
    await other.close()
    expect(await shared()).toBeUndefined()
  })

  it.each([
    ['its owner is', []],
    ['owner, watchdog and server are', ['musette-watchdog', 'bin/postgres -D']],
  ])('takes the server over at the same URL when %s killed', async (_what, others) => {
    const owner = start()
    await owner.opened
    const joined = await open()
    // A stopped owner does not start another server.
    process.kill(owner.pid, 'SIGSTOP')
    for (const text of others) await killAll(text)
    await owner.kill('SIGKILL')
    await eventually(() => joined.owned, { what: 'the take-over' })
    await isKept(joined.url)
    await joined.close()
  })
})

async function killAll(text: string): Promise<void> {
  const found = (await listProcessesNaming(folder.path)).filter((line) => line.includes(text))
  expect(found.length).toBeGreaterThan(0)
  for (const line of found) process.kill(Number.parseInt(line, 10), 'SIGKILL')
}
