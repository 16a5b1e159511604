import { afterEach, beforeEach, expect, it } from 'vitest'
import { openEmbeddedPostgres, readSharedUrl } from '../../src/embedded/embedded.ts'
import { eventually } from '../kit/eventually.ts'
import { makeSilentLog } from '../kit/log.ts'
import { queryOnce } from '../kit/postgres.ts'
import { listProcessesNaming } from '../kit/processes.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'
import { type Child, startChild } from './owner-child.ts'

const log = makeSilentLog()
let folder: TempDir
let children: Child[]
const start = (...args: Parameters<typeof startChild> extends [string, ...infer Rest] ? Rest : never) => {
  const child = startChild(folder.path, ...args)
  children.push(child)
  return child
}
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

it('joins a server that another process runs, and leaves it running', async () => {
  const owner = start()
  const { url } = await owner.opened
  const joined = await openEmbeddedPostgres({ log }, { dataDir: folder.path })
  expect(joined).toMatchObject({ url, owned: false })
  expect(await queryOnce(joined.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await joined.close()
  expect(await readSharedUrl(folder.path, { withPassword: true })).toBe(url.split('?')[0])
  expect(await owner.kill('SIGTERM')).toMatchObject({ code: 0 })
  expect(await readSharedUrl(folder.path, { withPassword: true })).toBeUndefined()
})

it('has one server when many processes open an empty folder at once', async () => {
  const opened = await Promise.all([1, 2, 3, 4].map(() => start().opened))
  expect(new Set(opened.map(({ url }) => url)).size).toBe(1)
  expect(opened.filter(({ owned }) => owned)).toHaveLength(1)
  const postmasters = (await listProcessesNaming(folder.path)).filter((line) =>
    line.includes('bin/postgres -D'),
  )
  expect(postmasters).toHaveLength(1)
})

it('has one server when one process opens the folder many times at once', async () => {
  const opened = await Promise.all(
    [1, 2, 3].map(() => openEmbeddedPostgres({ log }, { dataDir: folder.path })),
  )
  expect(opened.filter(({ owned }) => owned)).toHaveLength(1)
  expect(new Set(opened.map(({ url }) => url)).size).toBe(1)
  for (const one of opened.sort((a, b) => Number(a.owned) - Number(b.owned))) await one.close()
})

it('takes the server over, at the same URL, when its owner closes it', async () => {
  const owner = start()
  await owner.opened
  const joined = await openEmbeddedPostgres({ log }, { dataDir: folder.path })
  await queryOnce(joined.url, 'CREATE TABLE kept (number int)')
  await owner.kill('SIGTERM')
  await eventually(() => joined.owned, { what: 'the take-over' })
  expect(await queryOnce(joined.url, 'SELECT number FROM kept')).toEqual([])
  await joined.close()
  expect(await readSharedUrl(folder.path, { withPassword: true })).toBeUndefined()
})

it('takes the server over, at the same URL, when its owner is killed', async () => {
  const owner = start()
  await owner.opened
  const joined = await openEmbeddedPostgres({ log }, { dataDir: folder.path })
  await owner.kill('SIGKILL')
  await eventually(() => joined.owned, { what: 'the take-over' })
  expect(await queryOnce(joined.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await joined.close()
})
