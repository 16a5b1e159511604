import { type DatabaseIdentity, type ForeignFolder, readForeign } from '../../../kit/folders/folder-owner.ts'
import { fitCommand } from '../../app/remedy.ts'
import type { Config } from '../../config/config.ts'
import type { Rule } from './finding.ts'

/** A folder that the settings name. */
export type SettingsFolder = Readonly<{
  variable: string
  dirOf: (config: Config) => string | undefined
  /** finds what another database has there */
  readForeign: (dir: string, database: DatabaseIdentity) => Promise<ForeignFolder | undefined>
  /** the finding of files of others among the own ones; without it this database does not use the folder of another one */
  rule?: Rule
}>

const DROP_FOLDER: SettingsFolder = {
  variable: 'MUSETTE_DROP_DIR',
  dirOf: ({ drop }) => drop.dir,
  readForeign,
}

/** Reads which folders of the settings other databases use, as far as this machine sees them. Changes nothing. Never throws. */
export async function readSharedFolders(
  config: Config,
  folders: readonly SettingsFolder[],
  database: DatabaseIdentity,
) {
  const shared = [DROP_FOLDER, ...folders].map(async ({ variable, dirOf, readForeign, rule }) => {
    const dir = dirOf(config)
    // An unreadable folder has a separate check.
    const foreign = dir === undefined ? undefined : await readForeign(dir, database).catch(() => undefined)
    if (dir === undefined || !foreign) return []
    return { setting: variable, dir, rule, ...foreign, run: fitCommand(foreign.run, config) }
  })
  return (await Promise.all(shared)).flat()
}
