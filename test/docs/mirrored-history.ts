import { makeSilentLog } from '../kit/log.ts'
import { openTestDatabase, type TestDatabase } from '../kit/postgres.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { mirrorHistory } from './cookbook/history.ts'

/** It mirrors about 250 rides; on a busy machine that is a minute and more. */
export const MIRRORING_MS = 300_000

/** Opens a database of its own with the history of the cookbook in it. */
export async function openMirroredHistory(): Promise<TestDatabase> {
  const database = await openTestDatabase()
  const folder = await openTempDir('cookbook')
  try {
    await mirrorHistory(makeSilentLog(), { databaseUrl: database.url, dataDir: folder.path })
    return database
  } catch (error) {
    await database.close()
    throw error
  } finally {
    await folder.close()
  }
}
