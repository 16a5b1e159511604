import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { openScene, type Scene } from './scene.ts'

const TOKEN = 'a token of the tests'

describeWithBrowser('the login page', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ activities: 0, env: { MUSETTE_HTTP_TOKEN: TOKEN } })
  })
  afterAll(() => scene.close())

  it('refuses a wrong token, opens the wanted page with the right one, and signs out', async () => {
    const page = await scene.visit('/fitness')
    expect(page.url()).toBe(`${scene.url}/login?next=%2Ffitness`)
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

    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByText('fetches').first().waitFor()

    await page.goto(`${scene.url}/runs`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()
    await page.goto(`${scene.url}/`)
    await page.waitForURL(`${scene.url}/login?next=%2F`)
    expect(scene.takeComplaints()).toEqual([])
  })
})
