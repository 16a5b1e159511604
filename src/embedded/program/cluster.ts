import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError, errorLine } from '../../kit/errors.ts'
import type { Binaries } from './binaries.ts'
import { findDiskFull } from './disk.ts'
import { type Finished, makeOwnDirectory, type RunAs, runToEnd } from './run-as.ts'
import { DATABASE, PG_HBA_CONF, POSTGRESQL_CONF, USER } from './settings.ts'

type Tools = { runAs: RunAs; binaries: Binaries }

/** The version of Postgres whose files the packages can read. */
const MAJOR_VERSION = '18'

/**
 * Makes the database's files in `<dataDir>/postgres` unless they exist, under another name first, so that a crash never
 * leaves half of them. Returns whether they are new. Throws ConfigError `embedded_version`, `embedded_damaged` or
 * `embedded_initdb_failed`, TransientError `embedded_disk_full`.
 */
export async function makeCluster(
  tools: Tools,
  input: { dataDir: string; password: string },
): Promise<boolean> {
  const cluster = join(input.dataDir, 'postgres')
  const version = await readVersion(cluster)
  if (version === MAJOR_VERSION) {
    await adoptCluster(tools.runAs, cluster)
    await writeSettings(cluster)
    return false
  }
  if (version !== undefined) {
    const message = `the files in ${cluster} are from Postgres ${version}, and this is ${MAJOR_VERSION}`
    throw new ConfigError('embedded_version', `${message}; move that folder away, then start again`)
  }
  const scratch = `${cluster}.new`
  try {
    await fillCluster(tools, { ...input, cluster, scratch })
  } catch (error) {
    const full = await findDiskFull(input.dataDir)
    await rm(scratch, { recursive: true, force: true })
    throw full ?? error
  }
  return true
}

async function fillCluster(
  tools: Tools,
  input: { dataDir: string; password: string; cluster: string; scratch: string },
): Promise<void> {
  const { cluster, scratch } = input
  await rm(scratch, { recursive: true, force: true })
  await makeOwnDirectory(tools.runAs, scratch)
  const made = await runToEnd(tools.runAs, [tools.binaries.initdb, ...initdbOptions(scratch)], { cwd: '/' })
  if (made.code !== 0) throw failed('embedded_initdb_failed', `cannot make a database in ${cluster}`, made)
  await writeSettings(scratch)
  await runAlone(tools, scratch, [passwordStatement(input.password), `CREATE DATABASE ${DATABASE}`])
  await moveIntoPlace(scratch, cluster, input.dataDir)
}

/** Sets the superuser's password while no server runs. */
export async function setPassword(tools: Tools, input: { dataDir: string; password: string }): Promise<void> {
  await runAlone(tools, join(input.dataDir, 'postgres'), [passwordStatement(input.password)])
}

function initdbOptions(directory: string): string[] {
  return [
    `--pgdata=${directory}`,
    `--username=${USER}`,
    // Replaced before the first start; nobody gets in until then.
    '--auth=reject',
    '--encoding=UTF8',
    '--locale=C',
    // The library of the package for other locales is old, and would order text unlike other machines.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
  ]
}

async function writeSettings(cluster: string): Promise<void> {
  await writeFile(join(cluster, 'postgresql.conf'), POSTGRESQL_CONF, { mode: 0o644 })
  await writeFile(join(cluster, 'pg_hba.conf'), PG_HBA_CONF, { mode: 0o644 })
}

/** Gives the files to the user that runs the server now, where another did before. Only root comes to that. */
async function adoptCluster(runAs: RunAs, cluster: string): Promise<void> {
  const { uid } = await stat(cluster)
  if (uid === runAs.owner.uid) return
  const self: RunAs = { ...runAs, prefix: [], switchUser: false }
  const owner = `${runAs.owner.uid}:${runAs.owner.gid}`
  const given = await runToEnd(self, ['chown', '-R', owner, cluster], { cwd: '/' })
  if (given.code === 0) return
  throw new ConfigError(
    'embedded_not_yours',
    `${cluster} belongs to another user (${uid}); run musette as that user, or set MUSETTE_DATA_DIR to another folder`,
  )
}

function passwordStatement(password: string): string {
  return `ALTER ROLE ${USER} PASSWORD '${password}'`
}

/** Runs statements in a server of its own that nobody can connect to. A failed one ends it with an error code. */
async function runAlone(tools: Tools, cluster: string, statements: string[]): Promise<void> {
  const command = [tools.binaries.postgres, '--single', '-D', cluster, '-c', 'exit_on_error=on', 'postgres']
  const input = statements.map((statement) => `${statement}\n`).join('')
  const finished = await runToEnd(tools.runAs, command, { cwd: '/', input })
  if (finished.code !== 0)
    throw failed('embedded_setup_failed', `cannot set up the database in ${cluster}`, finished)
}

async function moveIntoPlace(scratch: string, cluster: string, dataDir: string): Promise<void> {
  try {
    await rename(scratch, cluster)
  } catch (error) {
    const message = `${cluster} holds something that is no database (${errorLine(error, 200)}); move it away, then start again`
    throw new ConfigError('embedded_damaged', message, { cause: error })
  }
  const directory = await open(dataDir, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

async function readVersion(cluster: string): Promise<string | undefined> {
  try {
    return (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return undefined
    throw error
  }
}

function failed(code: string, what: string, finished: Finished): ConfigError {
  const last = finished.output.trim().split('\n').slice(-8).join('\n')
  return new ConfigError(code, `${what} (${finished.signal ?? `exit code ${finished.code}`}):\n${last}`)
}
