import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { backupSettings } from '../../../src/features/backup/settings.ts'
import type { Config } from '../../../src/program/config/config.ts'
import { withSettings } from '../../kit/config.ts'
import type { FeatureRows } from '../../kit/feature-rows.ts'

const DAMAGED: readonly [string, string] = [
  'test/features/backup/typed.test.ts',
  'damage found by a backup is reported by doctor with its table and the remedy',
]

export const ROWS: FeatureRows = {
  asks: [['backup', 'musette.tar']],
  others: ['restore'],
  prints: () => [{ line: ['backup', '-'] }],
  commands: {
    'ls -l': [
      'test/features/backup/typed.test.ts',
      'doctor reports a folder with backups from before a restore',
    ],
    'musette backup': [
      'test/features/backup/typed.test.ts',
      'after a new key the printed command makes a backup',
    ],
    'musette restore': DAMAGED,
    'mv ${': [
      'test/features/backup/typed.test.ts',
      'the remedy for damaged files restores the newest backup, or starts empty without one',
    ],
  },
  plain: ['features/backup/archive/write-backup.ts: table.name', 'features/backup/state.ts: own'],
  async env(folder, line) {
    await writeFile(pathOf(folder, line), 'a backup')
    return { MUSETTE_BACKUP_DIR: folder }
  },
  runs: ['backup', 'backup-verify'],
  settings: {
    'in an empty folder': (config, folder) => withBackups(config, { dir: join(folder, 'none') }),
    'every moment': (config) => withBackups(config, { everyMs: 0 }),
  },
  situations({ folder, line, run, without }) {
    const byHand = `musette backup ${folder}/by-hand.tar`
    const verify = `musette backup --verify ${pathOf(folder, line)}`
    return `
backup_missing | in an empty folder ${without('backup')} | there is no backup yet | musette start
backup_failed | ${run('backup', '1 second', 'failed')} | the last backup failed (failed); the last one was made | ${byHand}
backup_disk_full | ${run('backup', '1 second', 'failed')}; update training.sync_runs set error_code = 'backup_disk_full' where outcome = 'failed' | make room | df -h ${folder}
backup_no_room | ${run('backup', '1 second', 'failed')}; update training.sync_runs set error_code = 'backup_no_room' where outcome = 'failed' | the last one was made | df -h ${folder}
backup_gone | in an empty folder ${run('backup', '0 seconds', 'done')} | the folder holds no backup of this database | musette backup ${folder}/none/by-hand.tar
backup_late | every moment | and one is due every 0.0 s | ${byHand}
backup_unproved | ${run('backup-verify', '1 second', 'failed')} | the last restore and comparison of a backup failed (failed) | ${verify}
backup_unproved | ${without('backup-verify')}; ${run('backup-verify', '22 days', 'done')} | no backup has been restored and compared for 22 d | ${verify}`
  },
  elsewhere: ['backups_of_others', 'key_beside_backups'],
}

const pathOf = (folder: string, line: string) => join(folder, `musette-20260101T000000Z-${line}.tar`)

function withBackups(config: Config, other: Partial<ReturnType<typeof backupSettings.of>>) {
  return withSettings(config, backupSettings, { ...backupSettings.of(config), ...other })
}
