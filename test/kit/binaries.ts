import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

export const WITHOUT_CHROMIUM = 'chromium is not installed; run: apt-get install chromium'

/**
 * Programs to look for. The headless shell comes first, because it starts fastest; browsers of other makers from the same source work too.
 */
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

/** Finds the first of some programs on the PATH; undefined if this machine has none of them. */
export function findBinary(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

/** Reports whether tests that need a program run: if it was found, and always in CI, where its absence is a failure. */
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
