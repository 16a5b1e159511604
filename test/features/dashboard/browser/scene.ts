import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { makeReleaseStack, type ReleaseStack } from '../../../../src/kit/release-stack.ts'
import { syncAccount, syncTraining } from '../../../../src/program/app/sync-account.ts'
import { openRig } from '../../../core/mirror/rig.ts'
import { openBrowser } from '../../../kit/chromium.ts'
import { openLine } from '../../../kit/postgres-line.ts'
import { distPath, startNode } from '../../../kit/processes.ts'

const WIDE = { width: 1_200, height: 900 }

export type Scene = Awaited<ReturnType<typeof openScene>>

/** How long the daemon may take to start on a busy machine, ms. */
const STARTED_WITHIN_MS = 100_000

type SceneOptions = {
  activities: number
  roles?: string
  env?: Record<string, string>
  /** mirrors the activities and the training info before the tests */
  isMirrored?: true
}

/**
 * Opens a sandbox, a database, a signed-in account, a daemon process with its web server, and a browser, for the tests of a file. The
 * returned members are usable only in tests and hooks. Unless `roles` says otherwise, the daemon mirrors nothing; tests call syncAccount.
 */
export function useScene(options: SceneOptions): Scene {
  const release = makeReleaseStack()
  let opened: Scene | undefined
  beforeAll(async () => {
    opened = await openScene(options, release)
    if (!options.isMirrored) return
    await syncAccount(opened.app, { name: 'default' })
    await syncTraining(opened.app, { account: opened.account })
  })
  afterAll(() => release.release())
  return new Proxy({} as Scene, {
    get(_target, name) {
      if (!opened) throw new Error('a scene is there in tests and hooks only')
      return Reflect.get(opened, name)
    },
  })
}

async function openScene(options: SceneOptions, release: ReleaseStack) {
  const rig = await openRig({ activities: options.activities })
  release.defer('rig', () => rig.close())
  const line = await openLine(rig.databaseUrl)
  release.defer('line', () => line.close())
  const start = async (http: string) => {
    const settings = {
      MUSETTE_DATA_DIR: rig.dataDir,
      MUSETTE_HTTP: http,
      MUSETTE_REQUESTS_PER_MINUTE: '100000',
    }
    const env = { DATABASE_URL: line.url, ...settings, ...options.env }
    const process = startNode([distPath('main.js'), 'start', '--roles', options.roles ?? 'web'], { env })
    const { url } = JSON.parse(await process.waitForLine(/"msg":"started"/, STARTED_WITHIN_MS))
    return { process, url: String(url) }
  }
  let { process: daemon, url } = await start('127.0.0.1:0')
  release.defer('daemon', () => daemon.kill('SIGKILL'))
  const { close, ...visitor } = makeVisitor(url)
  release.defer('page', close)
  return {
    ...rig,
    ...visitor,
    url,
    /** the daemon's connection to the database, which a test can cut */
    line,
    get daemon() {
      return daemon
    },
    /** restarts the daemon at the same address */
    async restart() {
      daemon = (await start(new URL(url).host)).process
    },
    /** finds the id of the newest activity that matches the SQL condition */
    async activityId(rule = 'true') {
      const text = `select activity_id from training.activities where ${rule} order by started_at desc limit 1`
      return Number((await rig.rows(text))[0]?.activity_id)
    },
  }
}

/** How to open a page; `pauses` keeps the normal pauses between polls. */
type Visit = BrowserContextOptions & { pauses?: true }

/** Runs in a page before its scripts: ends pauses between polls as a returning network would, so that no test waits for a poll. */
const POLL_OFTEN = `setInterval(() => dispatchEvent(new Event('online')), 400)`

const EMPTY_PAGE = '<link rel="icon" href="data:,">'

/** The browser of all files of a worker; it ends with the worker. */
let browser: Promise<Browser> | undefined

function makeVisitor(url: string) {
  let complaints: string[] = []
  const openPage = async ({ pauses, ...options }: Visit) => {
    browser ??= openBrowser()
    const context = await (await browser).newContext({ viewport: WIDE, ...options })
    if (!pauses) await context.addInitScript(POLL_OFTEN)
    const page = await context.newPage()
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('request', (request) => {
      if (!request.url().startsWith(`${url}/`)) complaints.push(`requested ${request.url()}`)
    })
    return page
  }
  // Opening a page takes a second of CPU time, so the next test reuses the default page after it was emptied.
  let idle: Page | undefined
  const leave = async (page: Page) => {
    await page.evaluate('localStorage.clear(), sessionStorage.clear()')
    await page.context().clearCookies()
    const kept = complaints
    complaints = []
    // An address of the same server keeps the page's process; an empty icon stops the browser from requesting one.
    const left = `${url}/left`
    await page.route(left, (route) => route.fulfill({ contentType: 'text/html', body: EMPTY_PAGE }))
    await page.goto(left)
    await page.unroute(left)
    complaints = kept
    idle = page
  }
  return {
    /** opens a page of the dashboard in an empty profile until the test ends, and waits for its contents */
    async visit(path: string, options?: Visit) {
      const page = options ? await openPage(options) : (idle ?? (await openPage({})))
      if (page === idle) idle = undefined
      // Closes the page, because an open page continues to poll.
      onTestFinished(() => (options || idle ? page.context().close() : leave(page)))
      await page.goto(`${url}${path}`)
      await page.locator('main h1').waitFor()
      return page
    },
    /** returns and clears the console errors and the requests to other hosts */
    takeComplaints() {
      const taken = complaints
      complaints = []
      return taken
    },
    close: async () => idle?.context().close(),
  }
}

/**
 * Splits a canvas into `bands` equal parts from left to right, and counts in each part the pixels close to a colour of the style sheet
 * (`power`, `mpa`, …). Without the line, all counts are zero.
 */
export async function countAlong(canvas: Locator, colour: string, bands = 10): Promise<number[]> {
  await canvas.waitFor()
  return await canvas.evaluate(COUNT, { colour, bands })
}

// Made from text, because the code runs in the browser and Node's types have no canvas.
const COUNT = new Function(
  'canvas',
  'input',
  `
  const probe = document.createElement('canvas').getContext('2d')
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--' + input.colour)
  probe.fillRect(0, 0, 1, 1)
  const wanted = probe.getImageData(0, 0, 1, 1).data
  const { width, height } = canvas
  const copy = document.createElement('canvas')
  Object.assign(copy, { width, height })
  copy.getContext('2d', { willReadFrequently: true }).drawImage(canvas, 0, 0)
  const pixels = copy.getContext('2d').getImageData(0, 0, width, height).data
  const counts = new Array(input.bands).fill(0)
  for (let at = 0; at < width * height; at++) {
    const near = [0, 1, 2].every((part) => Math.abs(pixels[at * 4 + part] - wanted[part]) < 24)
    if (near && pixels[at * 4 + 3] > 200) counts[Math.floor(((at % width) / width) * input.bands)]++
  }
  return counts`,
) as (canvas: unknown, input: { colour: string; bands: number }) => number[]
