import { sep } from 'node:path'
import envPaths from 'env-paths'
import { PROGRAM_FOLDER } from '../../kit/program-folder.ts'

/**
 * Returns the data directory of those who name none: in a clone `./.musette`, for an installed package the place where the
 * platform keeps the data of programs, such as `~/.local/share/musette`.
 */
export function defaultDataDir(programFolder = PROGRAM_FOLDER): string {
  if (!programFolder.includes(`${sep}node_modules${sep}`)) return `.${sep}.musette`
  return envPaths('musette', { suffix: '' }).data
}
