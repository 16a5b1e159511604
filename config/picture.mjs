// Takes the picture of the dashboard for the README: `node config/picture.mjs` runs the demo and writes docs/dashboard.png.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'musette-picture-'))
const demo = spawn(process.execPath, [`${root}dist/main.js`, 'demo'], {
  env: { ...process.env, MUSETTE_DATA_DIR: folder },
  stdio: ['ignore', 'pipe', 'inherit'],
})
const ended = new Promise((resolve) => demo.once('exit', resolve))
const which = 'command -v chromium-headless-shell || command -v chromium'
const executablePath = execFileSync('sh', ['-c', which], { encoding: 'utf8' }).trim()
const browser = await chromium.launch({ executablePath })
try {
  const page = await browser.newPage({ viewport: { width: 1000, height: 620 } })
  await page.goto(await readAddress(), { waitUntil: 'networkidle' })
  await page.screenshot({ path: `${root}docs/dashboard.png` })
} finally {
  await browser.close()
  demo.kill('SIGINT')
  await ended
  rmSync(folder, { recursive: true, force: true })
}

/** Reads what the demo prints up to the address of its dashboard, which it prints when all activities are there. */
async function readAddress() {
  for await (const line of createInterface(demo.stdout)) {
    const address = /^dashboard: (\S+)/.exec(line)?.[1]
    if (address) return address
  }
  throw new Error('the demo ended without an address')
}
