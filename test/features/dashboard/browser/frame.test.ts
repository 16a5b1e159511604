import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { syncAccount, syncTraining } from '../../../../src/program/app/sync-account.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { listViolations } from './axe.ts'
import { openScene, type Scene } from './scene.ts'

describeWithBrowser('the frame of the pages', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ activities: 3 })
    await syncAccount(scene.app, { name: 'default' })
    await syncTraining(scene.app, { account: scene.account })
  })
  afterEach(() => expect(scene.takeComplaints().filter((text) => !text.includes('404'))).toEqual([]))
  afterAll(() => scene.close())

  it('links to every page, and has no sign-out without a login', async () => {
    const page = await scene.visit('/')
    for (const name of ['Fitness', 'Runs', 'Today']) {
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click()
      await page.getByRole('heading', { level: 1, name }).waitFor()
      expect(await page.locator('[aria-current="page"]').textContent()).toBe(name)
    }
    expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0)
    await page.goto(`${scene.url}/queues`)
    expect(page.url()).toBe(`${scene.url}/runs#queues`)
    await page.getByText('fetches').first().waitFor()
  })

  it('shows a browser a page for an unknown address, and returns JSON to a program', async () => {
    const page = await scene.visit('/nowhere')
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('No such page')
    expect(await listViolations(page)).toEqual([])
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor()
    const answer = await fetch(`${scene.url}/nowhere`)
    expect([answer.status, await answer.json()]).toEqual([404, { error: 'there is no such page' }])
  })

  it('is printed on white without controls, with charts and legends within the sheet', async () => {
    const page = await scene.visit('/fitness', {
      viewport: { width: 1_200, height: 900 },
      colorScheme: 'dark',
    })
    const legend = page.getByRole('button', { name: 'FTP', exact: true })
    await legend.waitFor()
    await page.emulateMedia({ media: 'print' })
    for (const one of [page.getByRole('navigation'), page.locator('footer'), page.getByLabel('Season')])
      expect(await one.isVisible()).toBe(false)
    expect(await legend.isVisible()).toBe(true)
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)')
    // Paper does not tell a chart that it is narrower.
    expect(
      await page.evaluate(`(() => {
        document.querySelector('main').style.width = '600px'
        const right = (element) => element.getBoundingClientRect().right
        return Math.max(...[...document.querySelectorAll('canvas')].map(right)) - right(document.querySelector('.stage'))
      })()`),
    ).toBeLessThanOrEqual(0)
  })

  it('says where to put files when its process does not watch the drop folder', async () => {
    const page = await scene.visit('/')
    await page
      .getByLabel('Choose files')
      .setInputFiles({ name: 'lunch.fit', mimeType: 'application/octet-stream', buffer: Buffer.from('FIT') })
    await page.locator('.dropped').getByText('not sent').waitFor()
    expect(await page.locator('.dropped').textContent()).toContain('musette upload FILE')
  })

  it('shows miles, and dates as the browser does, when selected', async () => {
    const page = await scene.visit(`/activities/${await scene.activityId('distance > 0')}`, {
      locale: 'en-US',
    })
    const main = page.getByRole('main')
    const distance = (unit: string) => main.locator('dd').filter({ hasText: new RegExp(`^[\\d.]+ ${unit}`) })
    await distance('km').waitFor()
    await main.getByText(/\d{1,2} \w{3} \d{4}, /).waitFor()
    await page.getByLabel('Distances').selectOption('miles')
    await distance('mi').waitFor()
    await page.getByLabel('Dates').selectOption('browser')
    await main.getByText(/\w{3} \d{1,2}, \d{4}/).waitFor()
    await page.reload()
    await distance('mi').waitFor()
    expect(await page.getByLabel('Dates').inputValue()).toBe('browser')
  })
})
