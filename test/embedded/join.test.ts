import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { openEmbeddedPostgres, readSharedUrl } from '../../src/embedded/embedded.ts'
import { eventually } from '../kit/eventually.ts'
import { makeSilentLog } from '../kit/log.ts'
import { queryOnce } from '../kit/postgres.ts'
import { listProcessesNaming } from '../kit/processes.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'
import { copyMade, openMade } from './made.ts'
import { type Child, startChild } from './owner-child.ts'

const log = makeSilentLog()
let made: TempDir
let folder: TempDir
let children: Child[]
const start = () => {
  const child = startChild(folder.path)
  children.push(child)
  return child
}
const open = () => openEmbeddedPostgres({ log }, { dataDir: folder.path })
const shared = () => readSharedUrl(folder.path, { withPassword: true })
beforeAll(async () => {
  made = await openMade()
})
afterAll(() => made.close())
beforeEach(async () => {
  folder = await openTempDir('embedded')
  children = []
})
afterEach(async () => {
  await Promise.all(children.map((child) => child.kill('SIGKILL')))
  await eventually(async () => (await listProcessesNaming(folder.path)).length === 0, {
    what: 'the end of all processes',
  })
  await folder.close()
})

it('joins a server that another process runs, leaves it running, and takes it over, at the same URL, when its owner closes it', async () => {
  await copyMade(made, folder)
  const owner = start()
  const { url } = await owner.opened
  const joined = await open()
  expect(joined).toMatchObject({ url, owned: false })
  await joined.close()
  expect(await shared()).toBe(url.split('?')[0])
  const other = await open()
  expect(await owner.kill('SIGTERM')).toMatchObject({ code: 0 })
  await eventually(() => other.owned, { what: 'the take-over' })
  expect(await queryOnce(other.url, 'SELECT number FROM kept')).toEqual([])
  await other.close()
  expect(await shared()).toBeUndefined()
})

it('takes the server over, at the same URL, when its owner is killed', async () => {
  await copyMade(made, folder)
  const owner = start()
  await owner.opened
  const joined = await open()
  await owner.kill('SIGKILL')
  await eventually(() => joined.owned, { what: 'the take-over' })
  expect(await queryOnce(joined.url, 'SELECT number FROM kept')).toEqual([])
  await joined.close()
})

it('has one server when several processes, and one of them several times, open an empty folder at once', async () => {
  const here = [open(), open()]
  const all = await Promise.all([...here, ...[1, 2].map(() => start().opened)])
  expect(new Set(all.map(({ url }) => url)).size).toBe(1)
  expect(all.filter(({ owned }) => owned)).toHaveLength(1)
  const postmasters = (await listProcessesNaming(folder.path)).filter((line) =>
    line.includes('bin/postgres -D'),
  )
  expect(postmasters).toHaveLength(1)
  const own = await Promise.all(here)
  for (const one of own.sort((a, b) => Number(a.owned) - Number(b.owned))) await one.close()
})
