import { type Browser, chromium } from 'playwright-core'
import { describe } from 'vitest'
import { findChromium, runsWith, WITHOUT_CHROMIUM } from './binaries.ts'

/** No sandbox, because tests may run as root, and nothing that uses the network on its own. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Opens a headless browser with an empty profile. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium()
  if (!executablePath) throw new Error(WITHOUT_CHROMIUM)
  return await chromium.launch({ executablePath, args: QUIET })
}

/** A `describe` for tests that need a browser. Without one, they are skipped with a message (in CI they fail). */
export function describeWithBrowser(name: string, tests: () => void): void {
  if (runsWith(findChromium())) describe(name, tests)
  else describe.skip(`${name} (${WITHOUT_CHROMIUM})`, tests)
}
