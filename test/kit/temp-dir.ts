import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type TempDir = { path: string; close(): Promise<void> }

const MEMORY_DIR = '/dev/shm'

/**
 * Creates a folder under the system's temporary folder, or for many thousands of files in memory where the system has such
 * a folder; `close` removes it with everything in it.
 */
export async function openTempDir(name = 'test', { inMemory = false } = {}): Promise<TempDir> {
  const base = inMemory && existsSync(MEMORY_DIR) ? MEMORY_DIR : tmpdir()
  const path = await realpath(await mkdtemp(join(base, `musette-${name}-`)))
  return { path, close: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) }
}
