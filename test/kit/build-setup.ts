import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildModules } from './built-modules.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const MEMORY_DIR = '/dev/shm'
/** Minimum space for the folder in memory, bytes: a whole run used up to 4.5 GB at a time. */
const MEMORY_BYTES = 8 * 1024 ** 3

/**
 * Builds dist/ if it is outdated, for tests that start processes, and makes the folder for all temporary files of the run. Returns a
 * function that removes this folder.
 */
export default function setup(): () => void {
  buildWhenOutdated()
  buildModules()
  const folder = mkdtempSync(join(hasMemoryDir() ? MEMORY_DIR : tmpdir(), 'musette-tests-'))
  // Servers and tests of other users make their folders in it, as in the temporary folder of the system.
  chmodSync(folder, 0o1777)
  process.env.TMPDIR = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}

/**
 * Reports whether the system has a large enough folder in memory. A run makes and deletes a million files, mostly of databases. On a disk,
 * the file system takes a third of the CPU time of the run for that.
 */
function hasMemoryDir(): boolean {
  if (!existsSync(MEMORY_DIR)) return false
  const { bavail, bsize } = statfsSync(MEMORY_DIR)
  return bavail * bsize >= MEMORY_BYTES
}

/** Builds if a source file is newer than the last build, so that processes under test run the current code. */
function buildWhenOutdated(): void {
  const built = modifiedAt(`${root}dist/.inputs.json`)
  const sources = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
  if (built > 0 && !sources.some((path) => modifiedAt(`${root}src/${path}`) > built)) return
  const build = spawnSync(process.execPath, [`${root}config/setup.mjs`, 'build'], {
    cwd: root,
    encoding: 'utf8',
  })
  if (build.status !== 0) say(`the build reports errors:\n${build.stdout}${build.stderr}`)
}

function modifiedAt(path: string): number {
  return existsSync(path) ? statSync(path).mtimeMs : 0
}

function say(sentence: string): void {
  process.stderr.write(`musette tests: ${sentence}\n`)
}
