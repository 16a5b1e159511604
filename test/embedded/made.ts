import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { makeSilentLog } from '../kit/log.ts'
import { queryOnce } from '../kit/postgres.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'

/** Opens a folder with the files of a server that was created and closed, with a table `kept`. Creating them takes longer than most of a test. */
export async function openMade(): Promise<TempDir> {
  const made = await openTempDir('made')
  const database = await openEmbeddedPostgres({ log: makeSilentLog() }, { dataDir: made.path })
  await queryOnce(database.url, 'CREATE TABLE kept (number int)')
  await database.close()
  return made
}

/** Copies these files into a folder, with their owners. */
export async function copyMade(made: TempDir, folder: TempDir): Promise<void> {
  await promisify(execFile)('cp', ['-a', `${made.path}/.`, folder.path])
}
