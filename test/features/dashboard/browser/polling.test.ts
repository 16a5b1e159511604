import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { openScene, type Scene } from './scene.ts'

const LONG_MS = 5 * 60_000

describeWithBrowser('a page that polls the daemon', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ activities: 0 })
  })
  afterAll(() => scene.close())

  /** Opens a page whose clock the test advances, and counts its requests. */
  const watch = async () => {
    const page = await scene.visit('/', {})
    await page.clock.install()
    await page.reload()
    await page.locator('main h1').waitFor()
    let sent = 0
    let open = 0
    let most = 0
    const isRequest = (request: Request) => request.url().endsWith('/api/today')
    page.on('request', (request) => {
      if (!isRequest(request)) return
      sent++
      open++
      most = Math.max(most, open)
    })
    for (const end of ['requestfinished', 'requestfailed'] as const)
      page.on(end as 'requestfailed', (request) => {
        if (isRequest(request)) open--
      })
    return { page, sent: () => sent, mostAtOnce: () => most }
  }
  const setHidden = (page: Page, hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`)

  it('makes one request at a time, with growing pauses while no answer comes', async () => {
    const { page, sent, mostAtOnce } = await watch()
    await page.route('**/api/today', () => undefined)
    await page.clock.runFor(LONG_MS)
    expect(mostAtOnce()).toBe(1)
    // Each request times out after 20 s, and 15 s pass before the next; one every 3 s would be a hundred.
    expect(sent()).toBeGreaterThan(3)
    expect(sent()).toBeLessThan(15)
  })

  it('sends no request while hidden, and one at once when shown', async () => {
    const { page, sent } = await watch()
    await setHidden(page, true)
    // Answers that were under way when the page was hidden have come.
    await page.clock.runFor(LONG_MS)
    const before = sent()
    await page.clock.runFor(LONG_MS)
    expect(sent()).toBe(before)
    const next = page.waitForRequest('**/api/today')
    await setHidden(page, false)
    await next
  })

  it('does not repeat a refused request, and says what to do', async () => {
    const page = await scene.visit('/', {})
    await page.clock.install()
    let sent = 0
    page.on('request', (request) => {
      if (/api\/(?:fitness|activities\/list)/.test(request.url())) sent++
    })
    for (const address of ['/fitness?account=999999', '/activities?day=2026-02-31']) {
      sent = 0
      await page.goto(`${scene.url}${address}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.clock.runFor(LONG_MS)
      expect([address, sent]).toEqual([address, 1])
      expect(await page.getByText('Looking it up').count()).toBe(0)
      await page.getByRole('link', { name: 'Open the page without it' }).click()
      await page.locator('main h1').waitFor()
      expect(sent).toBe(2)
    }
  })

  it('links to the login page when the session has ended', async () => {
    const { page } = await watch()
    await page.route('**/api/today', (route) => route.fulfill({ status: 401, json: { error: 'no' } }))
    await page.clock.runFor(LONG_MS)
    expect(await page.getByRole('link', { name: 'Sign in again' }).getAttribute('href')).toBe(
      '/login?next=%2F',
    )
  })

  it('shows the daemon’s message when it could not answer', async () => {
    const { page } = await watch()
    await page.route('**/api/today', (route) =>
      route.fulfill({ status: 500, json: { error: 'see the log' } }),
    )
    await page.clock.runFor(LONG_MS)
    await page.getByRole('alert').getByText('The daemon could not answer (see the log)').waitFor()
  })
})
