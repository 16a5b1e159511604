import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { openBareWeb } from '../../../program/web/rig.ts'
import { useScene } from './scene.ts'

const TOKEN = 'a token of the tests'

describeWithBrowser('a dashboard with a token, below a path', () => {
  const scene = useScene({
    activities: 3,
    env: { MUSETTE_HTTP_TOKEN: TOKEN, MUSETTE_HTTP_PATH: '/musette' },
    isMirrored: true,
  })

  const signIn = async (page: Page, token = TOKEN) => {
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })

  it('refuses a wrong token, opens the requested page with the right one, and signs out', async () => {
    const page = await scene.visit('/musette/fitness')
    const outside: string[] = []
    page.on('request', (request) => {
      if (!new URL(request.url()).pathname.startsWith('/musette/')) outside.push(request.url())
    })
    expect(page.url()).toBe(`${scene.url}/musette/login?next=%2Ffitness`)
    expect(await page.getByRole('textbox').count()).toBe(1)
    await signIn(page, 'a wrong token')
    await page.getByRole('alert').getByText('This is not the token.').waitFor()
    expect(scene.takeComplaints().join()).toMatch(/^[^,]*401[^,]*$/)
    await signIn(page)
    await heading(page, 'Fitness').waitFor()

    for (const title of ['Activities', 'Fitness', 'Runs', 'Today']) {
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: title }).click()
      await page.getByText('Loading…').waitFor({ state: 'detached', timeout: 60_000 })
      await page.getByRole('heading', { level: 1, name: title }).waitFor()
      expect(new URL(page.url()).pathname).toMatch(/^\/musette\//)
      expect(await page.locator('[aria-current="page"]').textContent()).toBe(title)
    }
    const recent = page.getByRole('region', { name: 'Recent activities' })
    await recent.getByRole('rowheader').first().getByRole('link').click()
    await page.waitForURL(/\/musette\/activities\/\d+$/)
    await page.locator('canvas').first().waitFor({ timeout: 60_000 })
    const downloaded = page.waitForEvent('download')
    await page.getByRole('link', { name: /csv/i }).click()
    const file = await downloaded
    expect(file.suggestedFilename()).toMatch(/^\d{4}-\d\d-\d\d .*\.csv$/)
    expect((await readFile(await file.path(), 'utf8')).split('\n').length).toBeGreaterThan(100)

    await page.goto(`${scene.url}/musette/runs`)
    await page.getByText('fetches').first().waitFor()
    expect({ outside, complaints: scene.takeComplaints() }).toEqual({ outside: [], complaints: [] })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()
    await page.goto(`${scene.url}/musette/`)
    await page.waitForURL(`${scene.url}/musette/login?next=%2F`)
    // The daemon refuses a request that was running when the page signed out.
    const complaints = scene.takeComplaints().filter((complaint) => !complaint.includes('401'))
    expect({ outside, complaints }).toEqual({ outside: [], complaints: [] })
  })

  it('hides its data from a program at another port that gets the cookie', async () => {
    const page = await scene.visit('/musette/runs', { pauses: true })
    await signIn(page)
    await heading(page, 'Runs').waitFor()
    const cookies: string[] = []
    const thief = createServer(({ headers }, answer) => {
      cookies.push(headers.cookie ?? '')
      answer.setHeader('content-type', 'text/html').end('<h1>Another program</h1>')
    })
    await new Promise<void>((resolve) => thief.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void thief.close().closeAllConnections())
    const { port } = thief.address() as AddressInfo
    await page.goto(`http://127.0.0.1:${port}/musette/`)
    const [cookie = ''] = cookies
    expect(cookie).toMatch(/^musette_session_/)
    const headers = { cookie, origin: scene.url, 'sec-fetch-site': 'same-origin' }
    for (const path of ['/api/runs', '/metrics', '/activities/1/download?format=csv'])
      expect([path, (await fetch(`${scene.url}${path}`, { headers })).status]).toEqual([path, 401])
    const written = await fetch(`${scene.url}/api/drop?account=default&name=a.fit`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/octet-stream' },
      body: 'x',
    })
    expect(written.status).toBe(401)
    await page.goto(`${scene.url}/musette/runs`)
    await page.getByText('fetches').first().waitFor()
    scene.takeComplaints()
  })

  it('keeps the session across a link from another site and a sign-in at another port', async () => {
    const page = await scene.visit('/musette/runs', { pauses: true })
    await signIn(page)
    await heading(page, 'Runs').waitFor()
    const site = createServer((_request, answer) => {
      answer
        .setHeader('content-type', 'text/html')
        .end(`<h1>A site</h1><a href="${scene.url}/musette/fitness">my fitness</a>`)
    })
    await new Promise<void>((resolve) => site.listen(0, resolve))
    onTestFinished(() => void site.close().closeAllConnections())
    await page.goto(`http://localhost:${(site.address() as AddressInfo).port}`)
    await page.getByRole('link', { name: 'my fitness' }).click()
    await heading(page, 'Fitness').waitFor()
    const other = await openBareWeb({ host: '127.0.0.1', token: TOKEN })
    onTestFinished(() => other.close())
    await page.goto(other.url)
    await signIn(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()
    await page.goto(`${scene.url}/musette/runs`)
    await page.getByText('fetches').first().waitFor()
    scene.takeComplaints()
  })
})
