import { makeSilentLog } from '../kit/log.ts'
import { openHistory, type TestDatabase } from '../kit/postgres.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { mirrorHistory } from './cookbook/history.ts'

/** It mirrors about 250 rides; on a busy machine that is a minute and more. */
export const MIRRORING_MS = 300_000

/** Opens a database of its own with the history of the cookbook in it, which is mirrored once in a run. */
export async function openMirroredHistory(): Promise<TestDatabase> {
  return openHistory(async (databaseUrl) => {
    const folder = await openTempDir('cookbook')
    try {
      await mirrorHistory(makeSilentLog(), { databaseUrl, dataDir: folder.path })
    } finally {
      await folder.close()
    }
  })
}
