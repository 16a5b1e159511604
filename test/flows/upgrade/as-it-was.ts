import { createReadStream } from 'node:fs'
import { openArchive } from '../../../src/features/backup/archive/read-archive.ts'
import { restoreBackup } from '../../../src/features/backup/archive/restore-backup.ts'
import { momentOf, writeEarlierMigrations } from '../../kit/later-migrations.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

/** Makes the database of a backup as its version left it, with only the migrations of that version. */
export async function restoreAsItWas(backup: string, url: string): Promise<void> {
  const archive = await openArchive(createReadStream(backup))
  const folder = await openTempDir('migrations')
  try {
    await writeEarlierMigrations(folder.path, archive.manifest.migrations)
    const signal = new AbortController().signal
    const input = { connectionString: url, archive, signal, compare: true, folder: folder.path }
    const hasLines = archive.manifest.migrations.includes(await momentOf('0028_lines_follow'))
    // A restore calls this function; versions before 0028 do not have it.
    const none = 'create function musette.begin_line(text, jsonb) returns void language sql as $$$$'
    if (!hasLines) await queryOnce(url, `create schema musette; ${none}`)
    await restoreBackup({ log: makeSilentLog() }, input)
    if (!hasLines) await queryOnce(url, 'drop function musette.begin_line(text, jsonb)')
  } finally {
    await folder.close()
  }
}
