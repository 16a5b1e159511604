import { setTimeout as delay } from 'node:timers/promises'
import type { Page, Request } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { syncAccount } from '../../../../src/program/app/sync-account.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { listViolations } from './axe.ts'
import { useScene } from './scene.ts'

const LONG_MS = 5 * 60_000
const PASSES = /Nothing is lost, and this page goes on by itself/

describeWithBrowser('a page', () => {
  const scene = useScene({ activities: 3, isMirrored: true })

  it('says that the daemon does not answer, keeps its contents, and recovers with the daemon', async () => {
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

  it('says that the database is unreachable, also when opened meanwhile, and recovers with the database', async () => {
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

  it('names an account with a lost login, whatever page it is, with the command to type', async () => {
    await scene.steer('POST', 'tokens/expire')
    await scene.steer('POST', 'tokens/revoke')
    await syncAccount(scene.app, { name: 'default' }).catch(() => undefined)
    const page = await scene.visit('/')
    const notice = page.getByText('Account “default” needs a login').locator('code')
    for (const path of ['/runs', '/activities', '/fitness', `/activities/${await scene.activityId()}`, '/']) {
      await page.goto(`${scene.url}${path}`)
      expect([path, await notice.textContent()]).toEqual([path, 'musette login'])
      expect(await page.locator('#live').textContent()).toBe('Not live')
    }
    // Also after an answer that nothing has changed, which the page has taken when the next one comes.
    for (const _ of [1, 2]) await page.waitForResponse((response) => response.status() === 304)
    expect(await notice.textContent()).toBe('musette login')
    expect(await page.locator('.health').textContent()).toContain('look below')
    expect(await page.getByText('renewed by itself').count()).toBe(0)
    await scene.rows('update training.accounts set needs_login = false, last_error = null')
    await notice.waitFor({ state: 'detached' })
  })

  describe('that polls the daemon', () => {
    /** Opens a page whose clock the test advances, and counts its requests. */
    const watch = async () => {
      const page = await scene.visit('/', { pauses: true })
      await page.clock.install()
      await page.reload()
      await page.locator('main h1').waitFor()
      const seen = { sent: 0, open: 0, most: 0 }
      const isRequest = (request: Request) => request.url().endsWith('/api/today')
      page.on('request', (request) => {
        if (!isRequest(request)) return
        seen.sent++
        seen.open++
        seen.most = Math.max(seen.most, seen.open)
      })
      for (const end of ['requestfinished', 'requestfailed'] as const)
        page.on(end as 'requestfailed', (request) => void (isRequest(request) && seen.open--))
      return { page, seen }
    }
    const setHidden = (page: Page, hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`)

    it('makes one request at a time, with growing pauses while no answer comes', async () => {
      const { page, seen } = await watch()
      await page.route('**/api/today', () => undefined)
      await page.clock.runFor(LONG_MS)
      expect(seen.most).toBe(1)
      // Each request times out after 20 s, and 15 s pass before the next; one every 3 s would be a hundred.
      expect(seen.sent).toBeGreaterThan(3)
      expect(seen.sent).toBeLessThan(15)
    })

    it('sends no request while hidden, and one at once when shown', async () => {
      const { page, seen } = await watch()
      await setHidden(page, true)
      // Answers that were under way when the page was hidden have come.
      await page.clock.runFor(LONG_MS)
      const before = seen.sent
      await page.clock.runFor(LONG_MS)
      expect(seen.sent).toBe(before)
      const next = page.waitForRequest('**/api/today')
      await setHidden(page, false)
      await next
    })

    it.each([
      ['/fitness?account=999999', /api\/fitness/],
      ['/activities?day=2026-02-31', /api\/activities\/list/],
    ])('does not repeat the refused request of %s, and says what to do', async (address, request) => {
      const page = await scene.visit('/', { pauses: true })
      await page.clock.install()
      let sent = 0
      page.on('request', (one) => void (request.test(one.url()) && sent++))
      await page.goto(`${scene.url}${address}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.clock.runFor(LONG_MS)
      expect(sent).toBe(1)
      expect(await page.getByText('Looking it up').count()).toBe(0)
      await page.getByRole('link', { name: 'Open the page without it' }).click()
      await page.locator('main h1').waitFor()
      expect(sent).toBe(2)
    })

    it.each([
      ['links to the login page when the session has ended', 401, 'no', '[href="/login?next=%2F"]'],
      [
        'shows the daemon’s message when it could not answer',
        500,
        'see the log',
        ':text("answer (see the log)")',
      ],
    ])('%s', async (_title, status, error, way) => {
      const { page } = await watch()
      await page.route('**/api/today', (route) => route.fulfill({ status, json: { error } }))
      await page.clock.runFor(LONG_MS)
      await page.locator(`[role=alert] ${way}`).waitFor()
    })
  })

  it('says that an activity does not exist', async () => {
    scene.takeComplaints()
    for (const id of ['999', '0', 'abc', '99999999999', '%3Cscript%3E']) {
      const page = await scene.visit(`/activities/${id}`)
      expect(await page.locator('main').textContent()).toContain('There is no activity of that number')
      expect(scene.takeComplaints().join()).toContain('404')
    }
  })

  describe('without data', () => {
    beforeAll(async () => {
      await scene.rows('delete from training.activities')
      await scene.rows('delete from training.training_info')
      // For a second a new page may get the cached answer of another one.
      await delay(1_500)
    })

    it.each([
      ['/', { 'Nothing is mirrored yet': 'musette sync', 'No file has been': 'musette upload FILE' }],
      ['/fitness', { 'Nothing of this account': 'musette sync' }],
      ['/activities', { 'Nothing is mirrored yet': 'musette sync' }],
    ])('names at %s the commands to type when an account has no activity yet', async (path, commands) => {
      const page = await scene.visit(path)
      for (const [sentence, command] of Object.entries(commands))
        expect(await page.getByText(sentence).locator('code').textContent()).toBe(command)
      expect(await listViolations(page)).toEqual([])
      expect(scene.takeComplaints()).toEqual([])
    })

    it('names the commands to type when there is no account', async () => {
      await scene.rows('delete from training.accounts')
      await delay(1_500)
      const page = await scene.visit('/')
      for (const path of ['/', '/activities', '/fitness', '/runs']) {
        await page.goto(`${scene.url}${path}`)
        await page.locator('main h1').waitFor()
        expect([path, await page.locator('main code').allTextContents()]).toEqual([
          path,
          [
            'export MUSETTE_BASE_URL=https://the-address-of-the-service',
            'musette login --username you@example.com',
            'npm run demo',
          ],
        ])
        expect(await page.locator('main table').count()).toBe(0)
      }
      expect(scene.takeComplaints()).toEqual([])
    })
  })
})
