import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { syncAccount } from '../../../../src/program/app/sync-account.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { listViolations } from './axe.ts'
import { PHONE, useScene, WIDE } from './scene.ts'

const HOSTILE = '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>'
const LONG = 'Zweihundertkilometerrundfahrt'.repeat(31)

describeWithBrowser('the page of today', () => {
  const scene = useScene({ activities: 40, isMirrored: true })
  afterEach(() => expect(scene.takeComplaints()).toEqual([]))

  const row = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(name) })

  it('shows the accounts and the newest activities', async () => {
    const page = await scene.visit('/')
    const card = page.getByRole('article', { name: 'Account default' })
    expect(await card.textContent()).toMatch(/signed in.*activities40.*Last poll/)
    const [newest] = await scene.rows(
      'select name, activity_id from training.activities order by started_at desc limit 1',
    )
    const first = page.getByRole('region', { name: 'Recent activities' }).getByRole('rowheader').first()
    expect(await first.getByRole('link').getAttribute('href')).toBe(`/activities/${newest?.activity_id}`)
    expect(await first.textContent()).toContain(String(newest?.name))
  })

  it('shows the progress of a backfill and the time it takes', async () => {
    await scene.rows(`update training.activities set detail_state = 'wanted' where activity_id % 4 = 0`)
    const page = await scene.visit('/')
    const progress = page.getByRole('progressbar')
    expect(await progress.getAttribute('value')).toBe('30')
    expect(await progress.getAttribute('max')).toBe('40')
    expect(await page.getByText(/30 of 40 are here; [\d,]+ a minute, .+ to go/).isVisible()).toBe(true)
    await scene.rows(`update training.activities set detail_state = 'mirrored'`)
    await progress.waitFor({ state: 'detached' })
  })

  it('shows a new activity and an edit without a reload', async () => {
    const page = await scene.visit('/')
    await page.evaluate('window.sameDocument = true')
    await scene.steer('POST', 'activities', { path: 'addedlater', name: 'Added later', seconds: 600 })
    await syncAccount(scene.app, { name: 'default' })
    await row(page, 'Added later').waitFor()
    await scene.steer('PATCH', 'activities/addedlater', { name: 'Edited later' })
    await syncAccount(scene.app, { name: 'default' })
    await row(page, 'Edited later').waitFor()
    expect(await page.evaluate('window.sameDocument')).toBe(true)
  })

  it('keeps the focus where it was when something changes', async () => {
    const page = await scene.visit('/')
    const link = page.getByRole('region', { name: 'Recent activities' }).getByRole('link').nth(2)
    const href = await link.getAttribute('href')
    await link.focus()
    await scene.rows(
      `update training.activities set name = 'Renamed' where activity_id = ${await scene.activityId()}`,
    )
    await row(page, 'Renamed').waitFor()
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe(href)
  })

  it('shows a name as plain text, also when it contains markup', async () => {
    await scene.steer('POST', 'activities', {
      path: 'hostile',
      name: HOSTILE,
      description: HOSTILE,
      seconds: 300,
    })
    await syncAccount(scene.app, { name: 'default' })
    const page = await scene.visit('/')
    const link = page.getByRole('link', { name: HOSTILE })
    await link.click()
    await page.getByRole('heading', { level: 1, name: HOSTILE }).waitFor()
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.title()).toBe(`${HOSTILE} · musette`)
  })

  it('shows form, signature, the week against its recommendation, and the workout with its steps and files', async () => {
    const page = await scene.visit('/')
    const card = (name: string) => page.getByRole('region', { name, exact: true })
    const [now] = await scene.rows(
      `select status, round(ftp)::int as ftp, round(target_total * 7) as week, wotd_name from training.training_info
       order by observed_at desc limit 1`,
    )
    expect(await card('Form').textContent()).toContain(String(now?.status))
    expect(await card('Signature').textContent()).toContain(`${now?.ftp} W FTP, `)
    await card('Signature')
      .getByRole('img', { name: /^FTP of the last 90 days/ })
      .waitFor()
    const [week] = await scene.rows(
      `select coalesce(round(sum(xss)), 0)::int as xss, count(*)::int as n from training.activities, training.today
       where started_at_local >= date_trunc('week', day) and absent_since is null`,
    )
    expect(await card('This week').textContent()).toMatch(
      new RegExp(`^This week${week?.xss} .*recommended.*Activities${week?.n}`),
    )
    const workout = card('Workout of the day')
    expect(await workout.textContent()).toContain(String(now?.wotd_name))
    expect(await workout.locator('polygon').count()).toBeGreaterThan(2)
    await workout.getByText('As a table').click()
    expect(await workout.getByRole('row').count()).toBe(1 + (await workout.locator('polygon').count()))
    for (const format of ['erg', 'zwo']) {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        workout.getByRole('link', { name: `Download .${format}` }).click(),
      ])
      const [file] = await scene.rows('select content from training.workout_files where format = $1', [
        format,
      ])
      expect(await readFile(await download.path(), 'utf8')).toBe(file?.content)
      expect(download.suggestedFilename()).toMatch(new RegExp(`\\.${format}$`))
    }
  })

  it('has every workout of the own list as a file in each format', async () => {
    const page = await scene.visit('/')
    await page.getByText('Saved workouts').click()
    for (const format of ['zwo', 'erg', 'mrc', 'fit', 'json']) {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: `Download Lunch Tempo as .${format}` }).click(),
      ])
      expect(download.suggestedFilename()).toBe(`Lunch Tempo.${format}`)
      expect((await readFile(await download.path())).length).toBeGreaterThan(100)
    }
    const link = page.getByRole('link', { name: 'Download Lunch Tempo as .zwo' })
    const { width = 0, height = 0 } = (await link.boundingBox()) ?? {}
    expect(Math.min(width, height)).toBeGreaterThanOrEqual(24)
    const address = new URL((await link.getAttribute('href')) ?? '', page.url())
    for (const path of ['nosuch', '']) {
      address.searchParams.set('path', path)
      expect((await page.request.get(address.href)).status()).toBe(404)
    }
  })

  it('has the cards of the day side by side if there is room, and fits a telephone, with whole words in the menu and a card for each row', async () => {
    const wide = await scene.visit('/')
    const topOf = async (name: string) => (await wide.getByRole('region', { name }).boundingBox())?.y
    expect(await topOf('Form')).toBeGreaterThan(0)
    expect(await topOf('Signature')).toBe(await topOf('Form'))
    expect(await topOf('This week')).toBe(await topOf('Form'))
    const narrow = await scene.visit('/', PHONE)
    for (const link of await narrow.getByRole('navigation').getByRole('link').all())
      expect((await link.boundingBox())?.height).toBeLessThan(45)
    await row(narrow, 'Edited later').first().waitFor()
    expect(await narrow.evaluate('document.documentElement.scrollWidth')).toBe(390)
    expect(await narrow.evaluate('getComputedStyle(document.querySelector("tbody tr")).display')).toBe('flex')
  })

  it('says in one line that the mirror is in order, or on top what is wrong, with the command to type', async () => {
    const page = await scene.visit('/')
    await page.getByText(/in order.*Polled .*In 24 hours \d+ runs/).waitFor()
    await scene.rows(
      `update training.sync_runs set started_at = started_at - interval '3 hours', finished_at = finished_at - interval '3 hours'`,
    )
    const notice = page.locator('.notice', { hasText: 'Account “default” had no successful poll for 3 h' })
    expect(await notice.locator('code').textContent()).toBe('musette sync')
    await scene.rows(`update training.accounts set needs_login = true`)
    const login = page.locator('.notice', { hasText: 'Account “default” needs a login; nothing new' })
    expect(await login.locator('code').textContent()).toBe('musette login')
    await scene.rows(`update training.accounts set needs_login = false`)
    await scene.rows(
      `update training.sync_runs set started_at = started_at + interval '3 hours', finished_at = finished_at + interval '3 hours'`,
    )
    await page.locator('.notice').first().waitFor({ state: 'detached' })
  })

  it('names a failed activity, the reason, and the command to type', async () => {
    const id = await scene.activityId("detail_state = 'mirrored' and name <> 'Edited later'")
    await scene.rows(
      `update training.activities set detail_state = 'failed', fetch_error = 'activity x: the answer is cut' where activity_id = ${id}`,
    )
    const page = await scene.visit('/')
    const failed = page.getByRole('region', { name: 'Failed activities' })
    expect(await failed.textContent()).toMatch(/the answer is cut.*musette resync/)
    await scene.rows(`update training.activities set detail_state = 'mirrored' where activity_id = ${id}`)
    await failed.waitFor({ state: 'detached' })
  })

  it('can be used by keyboard, with a link past the navigation', async () => {
    const page = await scene.visit('/')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the contents')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement.id')).toBe('main')
    await page.keyboard.press('Tab')
    const target = await page.evaluate('document.activeElement.href')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
    await page.keyboard.press('Enter')
    await page.waitForURL(String(target))
  })

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
    expect(scene.takeComplaints().filter((text) => !text.includes('404'))).toEqual([])
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor()
    const answer = await fetch(`${scene.url}/nowhere`)
    expect([answer.status, await answer.json()]).toEqual([404, { error: 'there is no such page' }])
  })

  it('is printed on white without controls, with charts and legends within the sheet', async () => {
    const page = await scene.visit('/fitness', { viewport: WIDE, colorScheme: 'dark' })
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

  it('shows each activity in its local time in a browser of another zone, and can set that zone as the home', async () => {
    await scene.rows(`delete from training.activities where path <> 'addedlater'`)
    await scene.rows(
      `update training.activities set started_at = '2026-03-01T19:00Z', started_at_local = '2026-03-01 14:00', timezone = 'America/Toronto'`,
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

  // Each browser stands where the date is another one than at the rider's at that moment.
  it.each([
    [
      'America/St_Johns',
      [
        ['Pacific/Auckland', '2026-03-01T12:30Z', '2026-03-02 01:30', '2 Mar 2026'],
        ['Asia/Kathmandu', '2026-03-01T18:20Z', '2026-03-02 00:05', '2 Mar 2026'],
        ['Europe/Berlin', '2026-02-28T23:30Z', '2026-03-01 00:30', '1 Mar 2026'],
      ],
    ],
    ['Pacific/Kiritimati', [['America/Los_Angeles', '2026-03-02T02:00Z', '2026-03-01 18:00', '1 Mar 2026']]],
  ] as const)(
    'and every other page show the rider’s day and time in a browser in %s',
    async (timezoneId, riders) => {
      const page = await scene.visit('/', { timezoneId })
      for (const [zone, instant, local, day] of riders) {
        expect(await page.evaluate(`new Date('${instant}').getDate()`)).not.toBe(Number.parseInt(day, 10))
        await scene.rows(
          `with home as (update training.accounts set timezone = '${zone}')
           update training.activities set started_at = '${instant}', started_at_local = '${local}', timezone = '${zone}', form = 5`,
        )
        const started = new RegExp(`${day},? ${local.slice(11)}`)
        await page.goto(`${scene.url}/`)
        await page.getByText(`Newest activity: ${day}`).waitFor()
        await row(page, 'Edited later').filter({ hasText: started }).first().waitFor()
        expect(await page.getByRole('region', { name: 'Form' }).textContent()).toContain(
          `After the ride of ${day}`,
        )
        await page.goto(`${scene.url}/fitness`)
        await page.getByRole('region', { name: 'Signature' }).getByText('As a table').click()
        expect(await page.getByRole('rowheader', { name: day }).count(), zone).toBeGreaterThan(0)
        await page.goto(`${scene.url}/activities`)
        await row(page, 'Edited later').filter({ hasText: started }).waitFor()
        await page.getByRole('button', { name: `${day}: 1 activity` }).waitFor()
        await page.getByRole('link', { name: 'Edited later' }).click()
        await page.getByText(started).first().waitFor()
        const stage = page.getByLabel(/^The activity over time/)
        await stage.press('Home')
        const readout = page.locator('.chart', { has: stage }).locator('.readout')
        expect(await readout.textContent()).toContain(local.slice(11))
      }
    },
  )

  describe('of an odd rider', () => {
    beforeAll(async () => {
      await scene.rows(
        `insert into training.accounts (name, base_url) select 'a second account with quite a long name', base_url from training.accounts`,
      )
      await scene.rows('update training.activities set name = $1, activity_type = $2', [
        LONG,
        'Cross-country skiing',
      ])
      // A recording of two samples, 7 m apart.
      await scene.rows(
        `with newest as (select max(activity_id) as activity_id from training.activities),
           first as (select min(t) as t from training.samples join newest using (activity_id)),
           gone as (delete from training.samples s using newest n, first f where s.activity_id = n.activity_id and s.t > f.t + interval '1 second')
         update training.samples s set lat = 52.5 + extract(epoch from s.t - f.t) * 0.00006, lng = 13.4
         from newest n, first f where s.activity_id = n.activity_id and s.t <= f.t + interval '1 second'`,
      )
    })

    it('has no bar wider than its place', async () => {
      const id = await scene.activityId('activity_id = (select max(activity_id) from training.activities)')
      for (const options of [{ viewport: WIDE }, PHONE]) {
        const page = await scene.visit(`/activities/${id}`, options)
        expect((await page.locator('h1').textContent())?.length).toBeLessThanOrEqual(120)
        expect(await page.locator('.description').first().textContent()).toBe(LONG)
        await page.getByRole('region', { name: 'Route' }).waitFor()
        await page.evaluate(`for (const each of document.querySelectorAll('details')) each.open = true`)
        const bars = (await page.evaluate(
          `[...document.querySelectorAll('.bar, .zone-bar')].map((bar) => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width)`,
        )) as number[]
        expect(Math.max(...bars)).toBeLessThanOrEqual(1)
      }
    })

    it('keeps other columns whole with a long name, and the choice of accounts apart from the cards', async () => {
      const page = await scene.visit('/')
      const lines = (await page.evaluate(
        `[...document.querySelector('section[aria-labelledby="activities-title"] tbody tr').querySelectorAll('td')].map((cell) => {
          const range = document.createRange()
          range.selectNodeContents(cell)
          return [cell.dataset.title, new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size]
        })`,
      )) as Array<[string, number]>
      for (const [title, count] of lines)
        expect(count, title).toBeLessThanOrEqual(title === 'Account' ? 3 : 2)
      expect(new Map(lines).get('Started')).toBe(1)
      const gap = (await page.evaluate(
        `document.querySelector('.day').getBoundingClientRect().top - document.querySelector('nav.choice').getBoundingClientRect().bottom`,
      )) as number
      expect(gap).toBeGreaterThanOrEqual(8)
    })

    it('shows form and loads of one time, and names it', async () => {
      const page = await scene.visit('/')
      const card = page.getByRole('region', { name: 'Form' })
      const [last] = await scene.rows(
        `select day::text as day, round(form::numeric, 1)::float8 as form, round(tl_total::numeric, 1)::float8 as load,
           round(rl_total::numeric, 1)::float8 as recovery
         from training.form_history where form is not null order by at desc limit 1`,
      )
      const numbers = await card.locator('dd').allTextContents()
      expect(numbers.map((text) => Number(text.replace('−', '-').replace('+', '')))).toEqual([
        last?.form,
        last?.load,
        last?.recovery,
      ])
      const day = Number(String(last?.day).slice(8))
      expect(await card.textContent()).toMatch(new RegExp(`After the ride of ${day} `))
    })
  })
})
