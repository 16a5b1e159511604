import { openBrowser } from '../kit/chromium.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { median, openBench, type Row } from './rig.ts'

const VISITS = 5
const PATHS = ['/', '/activities', '/fitness', '/runs'] as const

/** Measures what a browser without a cache waits for, and how many bytes it gets, when it opens a page of the dashboard. */
export async function benchWeb(): Promise<Row[]> {
  const bench = await openBench({ rides: 200, seconds: 600, distinct: 10 })
  try {
    await bench.musette(['sync'])
    const daemon = startNode([distPath('main.js'), 'start', '--roles', 'web'], { env: bench.env })
    const { url } = JSON.parse(await daemon.waitForLine(/"msg":"started"/)) as { url: string }
    const rows: Row[] = []
    for (const path of PATHS) rows.push(...(await visit(`${url}${path}`, path)))
    await daemon.kill()
    return rows
  } finally {
    await bench.close()
  }
}

async function visit(address: string, path: string): Promise<Row[]> {
  const browser = await openBrowser()
  try {
    const paints: number[] = []
    const contents: number[] = []
    let bytes = 0
    for (let round = 0; round < VISITS; round++) {
      const context = await browser.newContext()
      const page = await context.newPage()
      await page.goto(address)
      await page.locator('main h1').waitFor()
      // Texts for the browser: Node's types know no window.
      contents.push(Number(await page.evaluate('performance.now()')))
      paints.push(
        Number(
          await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`),
        ),
      )
      bytes = Number(
        await page.evaluate(
          `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
             .reduce((sum, { transferSize }) => sum + transferSize, 0)`,
        ),
      )
      await context.close()
    }
    return [
      {
        what: `first contentful paint of ${path}, median of ${VISITS}`,
        value: `${median(paints).toFixed(0)} ms`,
      },
      { what: `the same until its numbers are there`, value: `${median(contents).toFixed(0)} ms` },
      {
        what: `weight of ${path} with scripts, styles and numbers`,
        value: `${(bytes / 1_000).toFixed(0)} kB`,
      },
    ]
  } finally {
    await browser.close()
  }
}
