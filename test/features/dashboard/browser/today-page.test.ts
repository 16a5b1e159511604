import type { Page } from 'playwright-core'
import { afterEach, expect, it } from 'vitest'
import { syncAccount } from '../../../../src/program/app/sync-account.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { useScene } from './scene.ts'

const HOSTILE = '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>'

describeWithBrowser('the page of today', () => {
  const scene = useScene({ activities: 40, isMirrored: true })
  afterEach(() => expect(scene.takeComplaints()).toEqual([]))

  const row = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(name) })
  const one = async (text: string) => (await scene.rows(text))[0] ?? {}

  it('shows the account, activities, form, signature, week and workouts', async () => {
    const page = await scene.visit('/')
    await page.getByText(/all well.*Polled .*\d+ runs in the last 24 hours/).waitFor()
    const account = page.getByRole('article', { name: 'Account default' })
    expect(await account.textContent()).toMatch(/signed in.*activities40.*Last poll/)
    expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0)
    const card = (name: string) => page.getByRole('region', { name, exact: true })
    const newest = await one(
      'select name, activity_id from training.activities order by started_at desc limit 1',
    )
    const first = card('Recent activities').getByRole('rowheader').first()
    expect(await first.getByRole('link').getAttribute('href')).toBe(`/activities/${newest.activity_id}`)
    expect(await first.textContent()).toContain(newest.name)

    const now = await one(
      `select status, round(ftp)::int as ftp, wotd_name from training.training_info order by observed_at desc limit 1`,
    )
    expect(await card('Form').textContent()).toContain(now.status)
    // Form and loads are the current ones, derived from the last ride, which the card names.
    const last = await one(
      `select extract(day from n.day)::int as day, round(f.form::numeric, 1)::float8 as form, round(f.tl_total::numeric, 1)::float8 as load,
         round(f.rl_total::numeric, 1)::float8 as recovery
       from training.form_today f join training.form_now n using (account_id) where f.form is not null`,
    )
    const numbers = await card('Form').locator('dd').allTextContents()
    const { day, ...values } = last
    expect(numbers.map((text) => Number(text.replace('−', '-').replace('+', '')))).toEqual(
      Object.values(values),
    )
    expect(await card('Form').textContent()).toContain(`after the ride of ${day} `)
    expect(await card('Signature').textContent()).toContain(`${now.ftp} W FTP, `)
    await card('Signature')
      .getByRole('img', { name: /^FTP of the last 90 days/ })
      .waitFor()
    const workout = card('Workout of the day')
    expect(await workout.textContent()).toContain(now.wotd_name)
    await workout.getByText('As a table').click()
    const steps = await workout.locator('polygon').count()
    expect(steps).toBeGreaterThan(2)
    expect(await workout.getByRole('row').count()).toBe(1 + steps)
    const download = async (name: string) => {
      const href = await page.getByRole('link', { name }).getAttribute('href')
      const answer = await page.request.get(new URL(href ?? '', page.url()).href)
      return [answer.headers()['content-disposition'], await answer.body()] as const
    }
    await page.getByText('Saved workouts').click()
    for (const format of ['zwo', 'erg', 'mrc', 'fit', 'json']) {
      const [name, body] = await download(`Download Lunch Tempo as .${format}`)
      expect(name).toContain(`Lunch Tempo.${format}`)
      expect(body.length).toBeGreaterThan(100)
    }

    // This daemon does not watch a drop folder.
    const buffer = Buffer.from('FIT')
    const file = { name: 'lunch.fit', mimeType: 'application/octet-stream', buffer }
    await page.getByLabel('Choose files').setInputFiles(file)
    await page.locator('.dropped').getByText('not sent').waitFor()
    expect(await page.locator('.dropped').textContent()).toContain('musette upload FILE')
  })

  it('shows a backfill, a new activity and an edit without a reload', async () => {
    const page = await scene.visit('/')
    await page.evaluate('window.sameDocument = true')
    await scene.rows(`update training.activities set detail_state = 'wanted' where activity_id % 4 = 0`)
    const progress = page.getByRole('progressbar')
    await progress.waitFor()
    expect([await progress.getAttribute('value'), await progress.getAttribute('max')]).toEqual(['30', '40'])
    await page.getByText(/30 of 40 are fetched; [\d,]+\/min, .+ to go/).waitFor()
    await scene.rows(`update training.activities set detail_state = 'mirrored'`)
    await progress.waitFor({ state: 'detached' })
    await scene.steer('POST', 'activities', { path: 'addedlater', name: 'Added later', seconds: 600 })
    await syncAccount(scene.app, { name: 'default' })
    await row(page, 'Added later').waitFor()
    const third = page.getByRole('region', { name: 'Recent activities' }).getByRole('link').nth(2)
    const href = await third.getAttribute('href')
    await third.focus()
    await scene.steer('PATCH', 'activities/addedlater', { name: HOSTILE, description: HOSTILE })
    await syncAccount(scene.app, { name: 'default' })
    const link = page.getByRole('link', { name: HOSTILE })
    await link.waitFor()
    await scene.steer('POST', 'activities', { path: 'addedabove', name: 'Added above', seconds: 600 })
    await syncAccount(scene.app, { name: 'default' })
    await row(page, 'Added above').waitFor()
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe(href)
    expect(await page.evaluate('window.sameDocument')).toBe(true)
    await link.click()
    await page.getByRole('heading', { level: 1, name: HOSTILE }).waitFor()
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.title()).toBe(`${HOSTILE} · musette`)
  })

  it('works by keyboard, with a link that skips the navigation', async () => {
    const page = await scene.visit('/')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('main')
    await page.keyboard.press('Tab')
    const target = await page.evaluate('document.activeElement.href')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
    await page.keyboard.press('Enter')
    await page.waitForURL(String(target))
  })

  it('shows miles and the date format of the browser if selected', async () => {
    const path = `/activities/${await scene.activityId('distance > 0')}`
    const page = await scene.visit(path, { locale: 'en-US' })
    const main = page.getByRole('main')
    const distance = (unit: string) => main.locator('dd').filter({ hasText: new RegExp(`^[\\d.]+ ${unit}`) })
    await distance('km').waitFor()
    await main.getByText(/\d{1,2} \w{3} \d{4}, /).waitFor()
    await page.getByLabel('Distances').selectOption('miles')
    await distance('mi').waitFor()
    await page.getByLabel('Dates').selectOption('browser')
    await main.getByText(/\w{3} \d{1,2}, \d{4}, /).waitFor()
    await page.reload()
    await distance('mi').waitFor()
    expect(await page.getByLabel('Dates').inputValue()).toBe('browser')
  })

  it('shows activities in their local time, and can set the time zone of the browser', async () => {
    await scene.rows(`delete from training.activities where path <> 'addedlater'`)
    await scene.rows(
      `update training.activities set name = 'Edited later', started_at = '2026-03-01T19:00Z', started_at_local = '2026-03-01 14:00',
         timezone = 'America/Toronto'`,
    )
    const page = await scene.visit('/', { timezoneId: 'Pacific/Auckland' })
    const isStarted = (at: string) => row(page, 'Edited later').filter({ hasText: at }).first().waitFor()
    await isStarted('14:00')
    await scene.rows(
      `update training.activities set started_at_local = '2026-03-01 19:00', timezone = 'UTC', timezone_source = 'unknown',
         start_lat = null, start_lng = null`,
    )
    const notice = page.getByText('musette accounts set default --timezone Pacific/Auckland')
    await notice.waitFor()
    await isStarted('19:00')
    await page.getByRole('button', { name: 'Use Pacific/Auckland' }).click()
    await notice.waitFor({ state: 'detached' })
    await isStarted('08:00')
    expect(await scene.rows('select timezone, timezone_set_by from training.accounts')).toEqual([
      { timezone: 'Pacific/Auckland', timezone_set_by: 'account' },
    ])
  })

  it('shows the rider’s day and time, as every page does, and not those of the browser', async () => {
    const [day, local] = ['2 Mar 2026', '2026-03-02 01:30']
    const page = await scene.visit('/', { timezoneId: 'America/St_Johns' })
    await scene.rows(
      `with home as (update training.accounts set timezone = 'Pacific/Auckland')
       update training.activities set started_at = '2026-03-01T12:30Z', started_at_local = '${local}', timezone = 'Pacific/Auckland', form = 5`,
    )
    const started = new RegExp(`${day},? 01:30`)
    await page.goto(`${scene.url}/`)
    await page.getByText(`Newest activity: ${day}`).waitFor()
    await row(page, 'Edited later').filter({ hasText: started }).first().waitFor()
    expect(await page.getByRole('region', { name: 'Form' }).textContent()).toContain(
      `after the ride of ${day}`,
    )
    await page.goto(`${scene.url}/fitness`)
    await page.getByRole('region', { name: 'Signature' }).getByText('As a table').click()
    expect(await page.getByRole('rowheader', { name: day }).count()).toBeGreaterThan(0)
    await page.goto(`${scene.url}/activities`)
    await row(page, 'Edited later').filter({ hasText: started }).waitFor()
    await page.getByRole('button', { name: `${day}: 1 activity` }).waitFor()
    await page.getByRole('link', { name: 'Edited later' }).click()
    await page.getByText(started).first().waitFor()
    const stage = page.getByLabel(/^The activity over time/)
    await stage.press('Home')
    const readout = page.locator('.chart', { has: stage }).locator('.readout')
    expect(await readout.textContent()).toContain('01:30')
  })
})
