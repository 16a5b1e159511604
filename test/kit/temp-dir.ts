import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type TempDir = { path: string; close(): Promise<void> }

/**
 * Creates a folder under the system's temporary folder, which build-setup.ts chooses; `close` removes it with everything in it.
 */
export async function openTempDir(name = 'test'): Promise<TempDir> {
  const path = await realpath(await mkdtemp(join(tmpdir(), `musette-${name}-`)))
  return { path, close: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) }
}
