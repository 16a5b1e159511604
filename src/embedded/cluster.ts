import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigError, errorCode } from '../kit/errors.ts'
import { orMissing, orNone, readPlainFile, renameDurably } from '../kit/files.ts'
import { quoteShell } from '../kit/text.ts'
import { type Binaries, readEarlierPackage } from './binaries.ts'
import { damaged, explainEnd } from './explain-end.ts'
import { createOwnDirectory, type RunAs, removeOwnDirectory, runToEnd } from './run-as.ts'

export type Tools = { runAs: RunAs; binaries: Binaries }

/** The complete new files during a major upgrade, until they get their final name; see change-major.ts. */
export const READY = 'postgres.ready'

/** The major version of Postgres whose data directories the packages can read. */
export const MAJOR_VERSION = '18'

/**
 * Prepares the database's files in `<dataDir>/postgres` and writes the settings. Creates missing files with initdb, first under another name,
 * so that a crash leaves no incomplete files. Returns whether the files are new. Throws ConfigError `embedded_version`, and explainEnd's
 * errors.
 */
export async function prepareCluster(tools: Tools, input: { dataDir: string; password: string }) {
  const cluster = join(input.dataDir, 'postgres')
  const version = await readVersion(cluster)
  if (version === MAJOR_VERSION) {
    await changeOwner(tools.runAs, cluster)
    await writeSettings(tools, cluster)
    return false
  }
  if (version !== undefined) {
    const files = `the files in ${cluster} are from Postgres ${version}, and this musette`
    const older = `${files} runs ${MAJOR_VERSION} and can upgrade them; run: MUSETTE_DATA_DIR=${quoteShell(input.dataDir)} musette migrate`
    if (readEarlierPackage(input.dataDir, version)) throw new ConfigError('embedded_older', older)
    const mend = `install the musette that made them, or run your own Postgres ${version} on a copy of that folder and set DATABASE_URL to it`
    const other = `${files} reads only those of Postgres ${MAJOR_VERSION}; keep them: ${mend}, and make a backup there, which this version can restore; run there: musette backup musette.tar`
    throw new ConfigError('embedded_version', other)
  }
  if ((await readdir(cluster).catch(orNone)).length > 0) throw damaged(cluster, 'it has no PG_VERSION')
  const scratch = `${cluster}.new`
  try {
    await createCluster(tools, { ...input, directory: scratch })
    await renameDurably(scratch, cluster)
  } catch (error) {
    await removeOwnDirectory(scratch)
    throw error
  }
  return true
}

/** Reports whether `dataDir` has a database's files, of any version. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  for (const name of ['postgres', READY])
    if ((await stat(join(dataDir, name)).catch(orMissing)) !== undefined) return true
  return false
}

/** Creates the files of an empty database in `directory` and removes existing files there. Throws explainEnd's errors. */
export async function createCluster(
  tools: Tools,
  { dataDir, directory, password }: { dataDir: string; directory: string; password: string },
) {
  await removeOwnDirectory(directory)
  await createOwnDirectory(tools.runAs, directory)
  const what = `cannot create a database in ${directory}`
  await runWhole(tools.runAs, [tools.binaries.initdb, ...initdbOptions(directory)], { dataDir, what })
  await writeSettings(tools, directory)
  const statements = [passwordStatement(password), `CREATE DATABASE ${DATABASE}`]
  await runSingleUser(tools, { dataDir, directory }, statements)
}

/** Sets the superuser's password if no server runs. */
export async function setPassword(tools: Tools, input: { dataDir: string; password: string }): Promise<void> {
  const { dataDir, password } = input
  await runSingleUser(tools, { dataDir, directory: join(dataDir, 'postgres') }, [passwordStatement(password)])
}

function initdbOptions(directory: string): string[] {
  return [
    `--pgdata=${directory}`,
    `--username=${USER}`,
    // Replaced before the first start; until then, every connection is refused.
    '--auth=reject',
    '--encoding=UTF8',
    '--locale=C',
    // The package's library for other locales is old and would sort text in a different order than other machines.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    '--no-instructions',
  ]
}

/** Writes the settings files as the user that runs the server, so that a link in its folder cannot make root write elsewhere. */
async function writeSettings({ runAs }: Tools, cluster: string): Promise<void> {
  const script = 'umask 022; printf %s "$2" >"$1/postgresql.conf" && printf %s "$3" >"$1/pg_hba.conf"'
  const command = ['/bin/sh', '-c', script, 'sh', cluster, POSTGRESQL_CONF, PG_HBA_CONF]
  const what = `cannot write the settings of the database in ${cluster}`
  await runWhole(runAs, command, { dataDir: dirname(cluster), what }).catch((error: Error) => {
    if (errorCode(error) !== 'embedded_start_failed') throw error
    const run = `rm ${quoteShell(join(cluster, 'postgresql.conf'))} ${quoteShell(join(cluster, 'pg_hba.conf'))}`
    throw new ConfigError(
      'embedded_settings',
      `${error.message}; musette writes both files again; run: ${run}`,
    )
  })
}

/** Changes the owner of the files to the user that runs the server now. Only root can do this; for others it throws ConfigError. */
export async function changeOwner({ owner, env }: RunAs, cluster: string): Promise<void> {
  const { uid } = await stat(cluster)
  if (uid === owner.uid) return
  // Skips the targets of links, and files with a second name, because they may be elsewhere.
  const files = ['find', cluster, '(', '-type', 'd', '-o', '-links', '1', ')']
  const command = [...files, '-exec', 'chown', '-h', `${owner.uid}:${owner.gid}`, '{}', '+']
  const self: RunAs = { prefix: [], switchUser: false, owner, env }
  if ((await runToEnd(self, command, { cwd: '/' })).code === 0) return
  throw new ConfigError(
    'embedded_not_yours',
    `${cluster} belongs to another user (${uid}); run musette as that user, or set MUSETTE_DATA_DIR to another folder`,
  )
}

function passwordStatement(password: string): string {
  return `ALTER ROLE ${USER} PASSWORD '${password}'`
}

/** Runs statements in single-user mode, without connections. Throws explainEnd's errors. */
async function runSingleUser(
  tools: Tools,
  { dataDir, directory }: { dataDir: string; directory: string },
  statements: string[],
): Promise<void> {
  const command = [tools.binaries.postgres, '--single', '-D', directory, '-c', 'exit_on_error=on', 'postgres']
  const input = statements.map((statement) => `${statement}\n`).join('')
  const what = `cannot set up the database in ${directory}`
  await runWhole(tools.runAs, command, { dataDir, what, input })
}

/** Runs a program to its end. Throws explainEnd's errors if it fails. */
async function runWhole(
  runAs: RunAs,
  command: readonly string[],
  { dataDir, what, input = '' }: { dataDir: string; what: string; input?: string },
): Promise<void> {
  const { signal, code, output } = await runToEnd(runAs, command, { cwd: '/', input })
  if (code !== 0) throw await explainEnd({ dataDir, what }, { how: signal ?? `exit code ${code}`, output })
}

/** Reads the major version of Postgres that wrote a data directory; undefined if there is none. */
export async function readVersion(cluster: string): Promise<string | undefined> {
  try {
    return (await readPlainFile(join(cluster, 'PG_VERSION'))).toString().trim() || undefined
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return undefined
    throw error
  }
}

/** The superuser of the embedded Postgres, and its database. */
export const USER = 'musette'
export const DATABASE = 'musette'

/** postgresql.conf, written at every start: small while idle. A person's settings (ALTER SYSTEM) are in postgresql.auto.conf and take precedence. */
const POSTGRESQL_CONF = `# Written by musette at every start; use ALTER SYSTEM for your own settings.
max_connections = 60
shared_buffers = 64MB
# In files of the data directory, because systemd removes those in /dev/shm when the user of the server signs out (RemoveIPC).
dynamic_shared_memory_type = mmap
# Nothing is replicated, so the WAL is only for recovery.
wal_level = minimal
max_wal_senders = 0
max_logical_replication_workers = 0
# A backfill writes a lot at once; the files shrink to min_wal_size afterwards.
max_wal_size = 512MB
min_wal_size = 80MB
# The asynchronous methods need extra processes or a newer kernel.
io_method = sync
# Compiling costs more than our queries take.
jit = off
# musette restarts the server with growing pauses; on a full disk the server itself would restart forever, without a message.
restart_after_crash = off
# Every login may send notifications; without this limit they can fill 8 GB of the disk while a session does not read them.
max_notify_queue_pages = 131072
timezone = 'UTC'
log_timezone = 'UTC'
log_destination = 'stderr'
logging_collector = off
log_checkpoints = off
log_line_prefix = '%m [%p] '
# Failed statements are reported to their sender; their text may contain values that do not belong in a log.
log_min_messages = log
log_min_error_statement = panic
`

/** pg_hba.conf, written at every start: only this machine may connect, with a password. */
const PG_HBA_CONF = `# Written by musette at every start.
host all all 127.0.0.1/32 scram-sha-256
`

/**
 * Makes the connection URL for our own clients, which send the password only by SCRAM (kit/postgres-client.ts): while the server is down,
 * another program may listen on its port. The password must need no escaping.
 */
export function makeUrl(access: { port: number; password: string }): string {
  return `${makeSharedUrl(access)}?require_auth=scram-sha-256`
}

/** Makes the connection URL for other programs; older programs refuse a URL with `require_auth`. */
export function makeSharedUrl(access: { port: number; password?: string }): string {
  const password = access.password === undefined ? '' : `:${access.password}`
  return `postgres://${USER}${password}@127.0.0.1:${access.port}/${DATABASE}`
}
