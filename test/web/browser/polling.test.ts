import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWithBrowser } from '../../kit/chromium.ts'
import { openScene, type Scene } from './scene.ts'

const LONG_MS = 5 * 60_000

describeWithBrowser('a page that follows the daemon', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ activities: 0 })
  })
  afterAll(() => scene.close())

  /** Opens a page whose clock is turned by the test, and counts what it asks. */
  const watch = async () => {
    const page = await scene.visit('/')
    await page.clock.install()
    await page.reload()
    await page.locator('main h1').waitFor()
    let asked = 0
    let open = 0
    let most = 0
    const isQuestion = (request: Request) => request.url().endsWith('/api/overview')
    page.on('request', (request) => {
      if (!isQuestion(request)) return
      asked++
      open++
      most = Math.max(most, open)
    })
    for (const end of ['requestfinished', 'requestfailed'] as const)
      page.on(end as 'requestfailed', (request) => {
        if (isQuestion(request)) open--
      })
    return { page, asked: () => asked, mostAtOnce: () => most }
  }
  const setHidden = (page: Page, hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`)

  it('has one question under way at most, and waits longer and longer, when no answer comes', async () => {
    const { page, asked, mostAtOnce } = await watch()
    await page.route('**/api/overview', () => undefined)
    await page.clock.runFor(LONG_MS)
    expect(mostAtOnce()).toBe(1)
    // Each question is given up after 20 s, and 15 s pass before the next; every 3 s there would be a hundred.
    expect(asked()).toBeGreaterThan(3)
    expect(asked()).toBeLessThan(15)
  })

  it('asks nothing while nobody looks, and at once when somebody does', async () => {
    const { page, asked } = await watch()
    await setHidden(page, true)
    // What was on its way when the page was hidden has come.
    await page.clock.runFor(LONG_MS)
    const before = asked()
    await page.clock.runFor(LONG_MS)
    expect(asked()).toBe(before)
    const next = page.waitForRequest('**/api/overview')
    await setHidden(page, false)
    await next
  })

  it('sends the session that has ended to where a new one begins', async () => {
    const { page } = await watch()
    await page.route('**/api/overview', (route) => route.fulfill({ status: 401, json: { error: 'no' } }))
    await page.clock.runFor(LONG_MS)
    expect(await page.getByRole('link', { name: 'Sign in again' }).getAttribute('href')).toBe(
      '/login?next=%2F',
    )
  })

  it('says what the daemon said when it could not answer', async () => {
    const { page } = await watch()
    await page.route('**/api/overview', (route) =>
      route.fulfill({ status: 500, json: { error: 'see the log' } }),
    )
    await page.clock.runFor(LONG_MS)
    await page.getByRole('alert').getByText('The daemon could not answer (see the log)').waitFor()
  })
})
