import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type TempDir = { path: string; close(): Promise<void> }

/** Makes a folder in the temporary folder of the system, which build-setup.ts chooses. `close` removes it with its content. */
export async function openTempDir(name = 'test'): Promise<TempDir> {
  const path = await realpath(await mkdtemp(join(tmpdir(), `musette-${name}-`)))
  return { path, close: () => rm(path, { recursive: true, force: true, maxRetries: 3 }) }
}
