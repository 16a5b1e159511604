import { expect, it } from 'vitest'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { useScene } from './scene.ts'

const TOKEN = 'a token of the tests'

describeWithBrowser('a dashboard with a token, below a path', () => {
  const scene = useScene({
    activities: 3,
    env: { MUSETTE_HTTP_TOKEN: TOKEN, MUSETTE_HTTP_PATH: '/musette' },
    isMirrored: true,
  })

  it('refuses a wrong token, opens the wanted page with the right one, draws every page below the path, and signs out', async () => {
    const page = await scene.visit('/musette/fitness')
    const outside: string[] = []
    page.on('request', (request) => {
      if (!new URL(request.url()).pathname.startsWith('/musette/')) outside.push(request.url())
    })
    expect(page.url()).toBe(`${scene.url}/musette/login?next=%2Ffitness`)
    expect(await page.getByRole('textbox').count()).toBe(1)
    const signIn = async (token: string) => {
      await page.getByLabel('Token').fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await signIn('a wrong token')
    await page.getByRole('alert').getByText('This is not the token.').waitFor()
    expect(scene.takeComplaints().join()).toMatch(/^[^,]*401[^,]*$/)
    await signIn(TOKEN)
    await page.getByRole('heading', { level: 1, name: 'Fitness' }).waitFor()

    for (const title of ['Activities', 'Fitness', 'Runs', 'Today']) {
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: title }).click()
      await page.getByText('Looking it up').waitFor({ state: 'detached', timeout: 60_000 })
      await page.getByRole('heading', { level: 1, name: title }).waitFor()
      expect(new URL(page.url()).pathname).toMatch(/^\/musette\//)
      expect(await page.locator('[aria-current="page"]').textContent()).toBe(title)
    }
    const recent = page.getByRole('region', { name: 'Recent activities' })
    await recent.getByRole('rowheader').first().getByRole('link').click()
    await page.waitForURL(/\/musette\/activities\/\d+$/)
    await page.locator('canvas').first().waitFor({ timeout: 60_000 })

    await page.goto(`${scene.url}/musette/runs`)
    await page.getByText('fetches').first().waitFor()
    expect({ outside, complaints: scene.takeComplaints() }).toEqual({ outside: [], complaints: [] })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()
    await page.goto(`${scene.url}/musette/`)
    await page.waitForURL(`${scene.url}/musette/login?next=%2F`)
    // A question of the page that was under way when it signed out is refused.
    const complaints = scene.takeComplaints().filter((complaint) => !complaint.includes('401'))
    expect({ outside, complaints }).toEqual({ outside: [], complaints: [] })
  })
})
