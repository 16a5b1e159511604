import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createOwnDirectory } from '../../src/embedded/run-as.ts'
import { eventually } from '../kit/eventually.ts'
import { findFreePort } from '../kit/listen.ts'
import { queryOnce } from '../kit/postgres.ts'
import { openPrograms } from '../kit/postgres-cluster.ts'
import { openTempDir } from '../kit/temp-dir.ts'

const SETTINGS = ['fsync=off', 'listen_addresses=127.0.0.1', 'unix_socket_directories=']

/** The clusters of one place: folders by name, of which one at a time serves the database `mirror` at `url`, others at another port. */
export async function openClusters() {
  const folder = await openTempDir('lines')
  const { runAs, run, init } = await openPrograms(folder.path)
  const [port, other] = [await findFreePort(), await findFreePort()]
  const dir = (name: string) => join(folder.path, name)
  const running = new Set<string>()
  /** The clusters that have served, the present one last. */
  const served: string[] = []
  const urlAt = (at: number, database = 'mirror') => `postgres://postgres@127.0.0.1:${at}/${database}`
  const start = async (name: string, at = port) => {
    const options = ['-p', String(at), ...SETTINGS.flatMap((setting) => ['-c', setting])].join(' ')
    await run('pg_ctl', '-D', dir(name), '-w', '-l', join(dir(name), 'server.log'), '-o', options, 'start')
    running.add(name)
    if (at === port) served.push(name)
  }
  const stop = async (name: string) => {
    running.delete(name)
    await run('pg_ctl', '-D', dir(name), '-m', 'immediate', '-w', 'stop')
  }
  const archive = dir('archive')
  await createOwnDirectory(runAs, archive)
  await init(dir('first'))
  const settings = [
    'wal_log_hints = on',
    'wal_keep_size = 1GB',
    'archive_mode = on',
    `archive_command = 'cp %p ${archive}/%f'`,
  ]
  await writeFile(join(dir('first'), 'postgresql.auto.conf'), `${settings.join('\n')}\n`)
  const copy = async (name: string, ...options: string[]) => {
    await createOwnDirectory(runAs, dir(name))
    const source = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres']
    await run(
      'pg_basebackup',
      '-D',
      dir(name),
      ...source,
      '-X',
      'stream',
      '-c',
      'fast',
      '--no-sync',
      ...options,
    )
  }
  /** Starts a standby, waits until it has all, and lets it receive no more. */
  const startLate = async (name: string) => {
    await start(name, other)
    const [sent] = await queryOnce(urlAt(port), 'select pg_current_wal_lsn()::text as lsn')
    const on = (text: string, values: unknown[] = []) => queryOnce(urlAt(other), text, values)
    const caught = async () =>
      (await on('select pg_last_wal_replay_lsn() >= $1::pg_lsn as has', [sent?.lsn]))[0]?.has
    await eventually(async () => (await caught()) === true, { what: 'the standby has all' })
    await on(`alter system set primary_conninfo = ''`)
    await on('select pg_reload_conf()')
    await eventually(async () => (await on('select from pg_stat_wal_receiver')).length === 0, {
      what: 'it receives no more',
    })
  }
  return {
    url: urlAt(port),
    otherDatabase: (name: string) => urlAt(port, name),
    ...{ run, start, copy, startLate, archive, dir },
    /** Stops the cluster that serves, as a crash does. */
    stop: () => stop(served.at(-1) ?? ''),
    /** The cluster that served before the present one. */
    former: () => served.at(-2) ?? '',
    /** Promotes a standby, which then serves at the address of the one before. */
    async promote(name: string) {
      await run('pg_ctl', '-D', dir(name), '-w', 'promote')
      await stop(name)
      await start(name)
    },
    /** Makes a stopped cluster a standby of the one that serves. */
    rewind: (name: string) =>
      run('pg_rewind', '-D', dir(name), '-R', '--no-sync', `--source-server=${urlAt(port, 'postgres')}`),
    async close() {
      for (const name of running) await stop(name).catch(() => undefined)
      await folder.close()
    },
  }
}
