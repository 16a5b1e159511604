import { existsSync } from 'node:fs'
import { appendFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Binaries } from '../../src/embedded/binaries.ts'
import { createOwnDirectory, detectRunAs, runToEnd, spawnAs } from '../../src/embedded/run-as.ts'
import { eventually } from './eventually.ts'
import { findFreePort } from './listen.ts'
import { queryOnce } from './postgres.ts'
import { openTempDir } from './temp-dir.ts'

const DEBIAN = '/usr/lib/postgresql/15'
const PROGRAMS: Binaries = {
  packageDir: DEBIAN,
  postgres: join(DEBIAN, 'bin/postgres'),
  initdb: join(DEBIAN, 'bin/initdb'),
}
/** Whether this machine has the programs for standbys, which the npm packages lack: apt-get install postgresql-15. */
export const HAS_CLUSTERS = existsSync(join(DEBIAN, 'bin/pg_basebackup'))

/** Returns functions that run the programs of Postgres (by default Debian's Postgres 15) as the user who may own a cluster in a folder. */
async function openPrograms(folder: string, binaries = PROGRAMS) {
  const runAs = await detectRunAs(binaries, folder)
  const run = async (name: string, ...args: string[]): Promise<void> => {
    const command = [join(dirname(binaries.initdb), name), ...args]
    const { code, output } = await runToEnd(runAs, command, { cwd: '/' })
    if (code !== 0) throw new Error(`${name}: ${output}`)
  }
  /** Makes an empty cluster. Its user `postgres` needs no password. */
  const init = async (dir: string, ...options: string[]): Promise<void> => {
    await createOwnDirectory(runAs, dir)
    const kind = ['--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync', ...options]
    await run('initdb', `--pgdata=${dir}`, '--username=postgres', ...kind)
  }
  return { runAs, run, init }
}

export type Cluster = Awaited<ReturnType<typeof openCluster>>

type ClusterOptions = { primary?: Cluster; copyOf?: Cluster; settings?: string; binaries?: Binaries }

/**
 * Opens a running cluster. With `primary` it is a standby of that cluster; with `copyOf` it is a copy of its files that is not started yet.
 * `settings`: lines of postgresql.conf.
 */
export async function openCluster(options: ClusterOptions = {}) {
  const { binaries = PROGRAMS, primary, copyOf, settings = '' } = options
  const folder = await openTempDir('cluster')
  const { runAs, run, init } = await openPrograms(folder.path, binaries)
  const dir = join(folder.path, 'data')
  const port = await findFreePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const make = async (source?: { url: string }) => {
    await rm(dir, { recursive: true, force: true })
    if (source) {
      await createOwnDirectory(runAs, dir)
      const from = ['--checkpoint=fast', '--no-sync', `--dbname=${source.url}`]
      await run('pg_basebackup', `--pgdata=${dir}`, ...from, ...(source === copyOf ? [] : ['-R']))
    } else await init(dir, '--wal-segsize=1')
    const own = `port = ${port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nfsync = off\n`
    await appendFile(join(dir, 'postgresql.conf'), own + settings)
  }
  let log = ''
  let stop = async () => undefined as unknown
  const start = async () => {
    const child = spawnAs(runAs, [binaries.postgres, '-D', dir], {
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      log += chunk
    })
    const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve))
    stop = () => {
      child.kill('SIGINT')
      return ended
    }
    await eventually(() => queryOnce(url, 'select 1'), { what: binaries.postgres })
  }
  await make(primary ?? copyOf)
  if (!copyOf) await start()
  return {
    url,
    port,
    dir,
    start,
    stop: () => stop(),
    /** runs a program of Postgres as the owner of the cluster */
    run,
    /** returns what the server has logged since the last call */
    takeLog() {
      const taken = log
      log = ''
      return taken
    },
    query: (text: string) => queryOnce(url, text),
    /** makes the cluster a new standby of `primary` */
    async follow(primary: { url: string }) {
      await stop()
      await make(primary)
      await start()
    },
    async close() {
      await stop()
      await folder.close()
    },
  }
}
