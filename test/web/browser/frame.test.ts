import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { syncAccount } from '../../../src/app/sync-account.ts'
import { describeWithBrowser } from '../../kit/chromium.ts'
import { openScene, type Scene } from './scene.ts'

describeWithBrowser('the frame of the pages', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ activities: 3 })
    await syncAccount(scene.app, { name: 'default' })
  })
  afterEach(() => expect(scene.takeComplaints().filter((text) => !text.includes('404'))).toEqual([]))
  afterAll(() => scene.close())

  it('leads to every page, and offers no sign-out where nobody signs in', async () => {
    const page = await scene.visit('/')
    for (const name of ['Fitness', 'Runs', 'Today']) {
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click()
      await page.getByRole('heading', { level: 1, name }).waitFor()
      expect(await page.locator('[aria-current="page"]').textContent()).toBe(name)
    }
    expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0)
    await page.getByRole('link', { name: 'Queues' }).click()
    await page.getByText('fetches').first().waitFor()
  })

  it('shows a browser a page for an unknown address, and gives a program JSON', async () => {
    const page = await scene.visit('/nowhere')
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('No such page')
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor()
    const answer = await fetch(`${scene.url}/nowhere`)
    expect([answer.status, await answer.json()]).toEqual([404, { error: 'there is no such page' }])
  })

  it('writes miles, and dates as the browser does, for those who choose it', async () => {
    const page = await scene.visit(`/activities/${await scene.activityId('distance > 0')}`, {
      locale: 'en-US',
    })
    const main = page.getByRole('main')
    await main.getByText(/\d km$/).waitFor()
    await main.getByText(/\d{1,2} \w{3} \d{4}, /).waitFor()
    await page.getByLabel('Distances').selectOption('miles')
    await main.getByText(/\d mi$/).waitFor()
    await page.getByLabel('Dates').selectOption('browser')
    await main.getByText(/\w{3} \d{1,2}, \d{4}/).waitFor()
    await page.reload()
    await main.getByText(/\d mi$/).waitFor()
    expect(await page.getByLabel('Dates').inputValue()).toBe('browser')
  })
})
