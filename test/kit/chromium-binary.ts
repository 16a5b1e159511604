import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

export const WITHOUT_CHROMIUM = 'chromium is not installed; run: apt-get install chromium'

/** Debian's name first; a browser of another maker of the same kind does as well. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

/** Finds chromium on the PATH; undefined when this machine has none. */
export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
