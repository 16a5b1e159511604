import type { Page, Request } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { syncAccount } from '../../../../src/program/app/sync-account.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { useScene } from './scene.ts'

const LONG_MS = 5 * 60_000
const PASSES = /Nothing is lost, and this page keeps trying/

describeWithBrowser('a page', () => {
  const scene = useScene({ activities: 3, isMirrored: true })

  it('reports that the daemon is down, keeps its contents, and recovers', async () => {
    const page = await scene.visit('/')
    await page.getByText('Live', { exact: true }).waitFor()
    await scene.daemon.kill('SIGKILL')
    const alert = page.getByRole('alert')
    await alert.getByText('musette start').waitFor()
    expect(await page.getByRole('status').textContent()).toBe('Not live')
    expect(await page.getByRole('article').isVisible()).toBe(true)
    await scene.restart()
    await alert.getByText('musette start').waitFor({ state: 'detached', timeout: 40_000 })
    expect(await page.getByRole('status').textContent()).toBe('Live')
  })

  it('reports an unreachable database, even on a page opened then, and recovers', async () => {
    const page = await scene.visit('/')
    scene.line.become('cut')
    await page.getByRole('alert').getByText(PASSES).waitFor()
    const late = await page.context().newPage()
    await late.goto(`${scene.url}/activities/${await scene.activityId()}`)
    await late.getByRole('alert').getByText(PASSES).waitFor()
    expect(await late.getByRole('heading', { level: 1 }).textContent()).toBe('Activity')
    scene.line.become('good')
    await late.getByRole('heading', { level: 1 }).waitFor({ timeout: 40_000 })
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 40_000 })
    expect(await page.getByRole('alert').textContent()).toBe('')
  })

  it('names an account with a lost login and the command to run, on every page', async () => {
    await scene.steer('POST', 'tokens/expire')
    await scene.steer('POST', 'tokens/revoke')
    await syncAccount(scene.app, { name: 'default' }).catch(() => undefined)
    const page = await scene.visit('/')
    const notice = page.getByText('Account “default” needs a login').locator('code')
    for (const path of [
      '/runs',
      '/activities',
      '/fitness',
      '/totals',
      `/activities/${await scene.activityId()}`,
      '/',
    ]) {
      await page.goto(`${scene.url}${path}`)
      expect([path, await notice.textContent()]).toEqual([path, 'musette login'])
      expect(await page.locator('#live').textContent()).toBe('Not live')
    }
    // The notice stays after a 304; the second 304 shows that the page has handled the first.
    for (const _ of [1, 2]) await page.waitForResponse((response) => response.status() === 304)
    expect(await notice.textContent()).toBe('musette login')
    expect(await page.locator('.health').textContent()).toContain('see below')
    expect(await page.getByText('renews the login').count()).toBe(0)
    await scene.rows('update training.accounts set needs_login = false, last_error = null')
    await notice.waitFor({ state: 'detached' })
  })

  describe('that polls the daemon', () => {
    /** Opens a page whose clock the test advances, and counts the page's requests. */
    const watch = async (address = '/', path = '/api/today') => {
      const page = await scene.visit('/', { pauses: true })
      await page.clock.install()
      const seen = { sent: 0, open: 0, most: 0 }
      const isMeant = (request: Request) => request.url().includes(path)
      page.on('request', (request) => {
        if (!isMeant(request)) return
        seen.sent++
        seen.open++
        seen.most = Math.max(seen.most, seen.open)
      })
      for (const end of ['requestfinished', 'requestfailed'] as const)
        page.on(end as 'requestfailed', (request) => void (isMeant(request) && seen.open--))
      await page.goto(`${scene.url}${address}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      return { page, seen }
    }
    const setHidden = (page: Page, hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`)

    it('polls only while shown, one request at a time, with growing pauses in an outage', async () => {
      const { page, seen } = await watch()
      await setHidden(page, true)
      // Lets responses arrive that were pending when the page was hidden.
      await page.clock.runFor(LONG_MS)
      const hidden = seen.sent
      await page.clock.runFor(LONG_MS)
      expect(seen.sent).toBe(hidden)
      const next = page.waitForRequest('**/api/today')
      await setHidden(page, false)
      await next
      await page.route('**/api/today', () => undefined)
      const before = seen.sent
      await page.clock.runFor(LONG_MS)
      expect(seen.most).toBe(1)
      // Each request times out after 20 s, and the next follows 15 s later; a request every 3 s would make a hundred.
      expect(seen.sent - before).toBeGreaterThan(3)
      expect(seen.sent - before).toBeLessThan(15)
    })

    it('does not repeat a refused request, and links to the defaults', async () => {
      const { page, seen } = await watch('/fitness?account=999999', '/api/fitness')
      await page.clock.runFor(LONG_MS)
      expect(seen.sent).toBe(1)
      expect(await page.getByText('Loading…').count()).toBe(0)
      await page.getByRole('link', { name: 'Open the page with its defaults' }).click()
      await page.locator('main h1').waitFor()
      expect(seen.sent).toBe(2)
    })

    it('links to the login page after the session ends, and shows an error of the daemon', async () => {
      const { page } = await watch()
      for (const [status, error, way] of [
        [401, 'no', '[href="/login?next=%2F"]'],
        [500, 'see the log', ':text("answer (see the log)")'],
      ] as const) {
        await page.route('**/api/today', (route) => route.fulfill({ status, json: { error } }))
        await page.clock.runFor(LONG_MS)
        await page.locator(`[role=alert] ${way}`).waitFor()
      }
    })
  })

  it('names the command to run if there is no activity or no account yet', async () => {
    scene.takeComplaints()
    await scene.rows('delete from training.activities; delete from training.training_info')
    const page = await scene.visit('/')
    // For a second, a new page may get the cached response of another page.
    for (const [path, sentence, command] of [
      ['/', 'Nothing is mirrored yet', 'musette sync'],
      ['/', 'No files yet', 'musette upload FILE'],
      ['/fitness', 'Nothing of this account', 'musette sync'],
    ] as const) {
      await page.goto(`${scene.url}${path}`)
      await expect.poll(() => page.getByText(sentence).locator('code').textContent()).toBe(command)
    }
    await scene.rows('delete from training.accounts')
    for (const path of ['/', '/fitness']) {
      await page.goto(`${scene.url}${path}`)
      await expect
        .poll(() => page.locator('main code').allTextContents(), { message: path })
        .toContain('musette login --username you@example.com')
    }
    expect(scene.takeComplaints()).toEqual([])
  })
})
