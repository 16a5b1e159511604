import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

export const WITHOUT_CHROMIUM = 'chromium is not installed; run: apt-get install chromium'

/** The shell, which starts soonest, first; the browsers of other makers that are built from the same source work too. */
const CHROMIUM_NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
]

export function findChromium(): string | undefined {
  return findBinary(CHROMIUM_NAMES)
}

export function findRedisBinary(): string | undefined {
  return findBinary(['redis-server'])
}

/** Finds the first of some programs on the PATH; undefined when this machine has none. */
export function findBinary(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

/** Tells whether tests that need what was looked for run: where it was found, and always in CI, where its lack is a failure. */
export function runsWith(found: unknown): boolean {
  return Boolean(found) || Boolean(process.env.CI)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
