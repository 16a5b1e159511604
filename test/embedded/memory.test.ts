import { execFile } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { connect } from '../kit/connect.ts'
import { makeSilentLog } from '../kit/log.ts'
import { openForAll } from '../kit/open-for.ts'
import { queryOnce } from '../kit/postgres.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { copyMade, openMade } from './made.ts'

const MEGABYTE = 1024
const made = openForAll(openMade)
const server = openForAll(async () => {
  const folder = await openTempDir('memory')
  await copyMade(made, folder)
  const database = await openEmbeddedPostgres({ log: makeSilentLog() }, { dataDir: folder.path })
  const close = async () => {
    await database.close()
    await folder.close()
  }
  return { url: database.url, path: folder.path, close }
})

/** Statements that fill memory; without a limit, each needs more than 600 MB and less than 1.5 GB. */
const GREEDY = [
  ['an array', `select array_length(array_agg(repeat('x', 1000) || g), 1) from generate_series(1, 700000) g`],
  ['a text', `select length(string_agg(repeat('x', 1000), '')) from generate_series(1, 600000) g`],
  [
    'a function',
    `select length(query_to_xml('select repeat(''x'', 1000) from generate_series(1, 600000)', true, false, '')::text)`,
  ],
]

// The Linux kernel enforces the limit; other kernels have no such limit for a process.
it.runIf(process.platform === 'linux').each(GREEDY)(
  'a statement that fills memory with %s fails, and other sessions continue',
  async (_what, statement = '') => {
    const [greedy, other] = [await connect(server.url), await connect(server.url)]
    try {
      const { rows } = await greedy.query('select pg_backend_pid() as pid')
      await expect(greedy.query(statement)).rejects.toMatchObject({ code: '53200' })
      const status = await readFile(`/proc/${rows[0].pid}/status`, 'utf8')
      const [, peak] = /^VmPeak:\s+(\d+) kB$/m.exec(status) ?? []
      expect(Number(peak) / MEGABYTE).toBeLessThan(1024)
      expect((await greedy.query('select 1 as one')).rows).toEqual([{ one: 1 }])
      expect((await other.query('select 2 as two')).rows).toEqual([{ two: 2 }])
    } finally {
      await Promise.all([greedy.end(), other.end()])
    }
    expect(await queryOnce(server.url, 'select 3 as three')).toEqual([{ three: 3 }])
  },
)

it.runIf(process.platform === 'linux')(
  'new sessions and parallel workers start after the system removed all shared memory',
  async () => {
    const [pid] = (await readFile(join(server.path, 'postgres/postmaster.pid'), 'utf8')).split('\n')
    // The server opens most shared memory when the first session needs it.
    const client = await connect(server.url)
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
    const all = [pid, ...children.trim().split(' ')]
    const maps = (await Promise.all(all.map((one) => readFile(`/proc/${one}/maps`, 'utf8')))).join('')
    for (const [path] of maps.matchAll(/\/dev\/shm\/PostgreSQL\.\d+/g)) await rm(path, { force: true })
    const [, segment = ''] = /(\d+) +\/SYSV/.exec(maps) ?? []
    expect(segment).not.toBe('')
    await promisify(execFile)('ipcrm', ['-m', segment])
    await queryOnce(server.url, 'create table many as select generate_series(1, 1000) as number')
    try {
      await client.query('set debug_parallel_query = on')
      const { rows } = await client.query('select count(*)::int as count from many')
      expect(rows).toEqual([{ count: 1000 }])
    } finally {
      await client.end()
    }
  },
)
