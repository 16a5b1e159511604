import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { syncAccount } from '../../../../src/program/app/sync-account.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { openScene, type Scene } from './scene.ts'

describeWithBrowser('a page whose daemon or database is unreachable', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ activities: 3 })
    await syncAccount(scene.app, { name: 'default' })
  })
  afterAll(() => scene.close())

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
    await page
      .getByRole('alert')
      .getByText(/Nothing is lost, and this page goes on by itself/)
      .waitFor()
    const address = `${scene.url}/activities/${await scene.activityId()}`
    const late = await page.context().newPage()
    await late.goto(address)
    await late
      .getByRole('alert')
      .getByText(/Nothing is lost, and this page goes on by itself/)
      .waitFor()
    expect(await late.getByRole('heading', { level: 1 }).textContent()).toBe('Activity')
    scene.line.become('good')
    await late.getByRole('heading', { level: 1 }).waitFor({ timeout: 40_000 })
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 40_000 })
    expect(await page.getByRole('alert').textContent()).toBe('')
  })

  it('names an account with a lost login on every page, with the command to type', async () => {
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
})

describeWithBrowser('a page without data', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ activities: 0 })
  })
  afterAll(() => scene.close())

  it('names the command to type when an account has no activity yet', async () => {
    const page = await scene.visit('/')
    expect(await page.getByText('Nothing is mirrored yet').locator('code').textContent()).toBe('musette sync')
    expect(await page.getByText('No file has been dropped yet').locator('code').textContent()).toBe(
      'musette upload FILE',
    )
    const fitness = await scene.visit('/fitness')
    expect(await fitness.getByText('Nothing of this account').locator('code').textContent()).toBe(
      'musette sync',
    )
    expect(scene.takeComplaints()).toEqual([])
  })

  it('says that an activity does not exist', async () => {
    for (const id of ['999', '0', 'abc', '99999999999', '%3Cscript%3E']) {
      const page = await scene.visit(`/activities/${id}`)
      expect(await page.locator('main').textContent()).toContain('There is no activity of that number')
      expect(scene.takeComplaints().join()).toContain('404')
    }
  })

  it('names the command to type when there is no account', async () => {
    await scene.rows('delete from training.accounts')
    // For a second a new page may get the cached answer of another one.
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
