import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildModules } from './built-modules.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const MEMORY_DIR = '/dev/shm'
/** A whole run was seen to hold 4.5 GB at a time. */
const MEMORY_BYTES = 8 * 1024 ** 3

/**
 * Makes a current dist/, for tests that start processes, and the folder that holds every temporary file of the run.
 * Returns how to remove that folder.
 */
export default function setup(): () => void {
  buildWhenOutdated()
  buildModules()
  const folder = mkdtempSync(join(hasMemoryDir() ? MEMORY_DIR : tmpdir(), 'musette-tests-'))
  // Servers and tests of other users have theirs in it, as in the system's own.
  chmodSync(folder, 0o1777)
  process.env.TMPDIR = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}

/**
 * Tells whether the system has a folder in memory that is large enough. A run makes and deletes a million files, of
 * databases most of all; a file system on a disk needs a third of the run's processor time for that.
 */
function hasMemoryDir(): boolean {
  if (!existsSync(MEMORY_DIR)) return false
  const { bavail, bsize } = statfsSync(MEMORY_DIR)
  return bavail * bsize >= MEMORY_BYTES
}

/** Builds when a source file is newer than the last build, so that processes under test run today's code. */
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
