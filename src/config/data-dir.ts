import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import envPaths from 'env-paths'

/**
 * Returns the data directory of those who name none: in a clone `./.musette`, for an installed package the place where the
 * platform keeps the data of programs, such as `~/.local/share/musette`.
 */
export function defaultDataDir(self: string = fileURLToPath(import.meta.url)): string {
  if (!self.includes(`${sep}node_modules${sep}`)) return `.${sep}.musette`
  return envPaths('musette', { suffix: '' }).data
}
