import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { syncAccount, syncTraining } from '../../../../src/program/app/sync-account.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { openScene, PHONE, type Scene } from './scene.ts'

const HOSTILE = '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>'

describeWithBrowser('the page of today', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ activities: 40 })
    await syncAccount(scene.app, { name: 'default' })
    await syncTraining(scene.app, { account: scene.account })
  })
  afterEach(() => expect(scene.takeComplaints()).toEqual([]))
  afterAll(() => scene.close())

  const row = (page: Awaited<ReturnType<Scene['visit']>>, name: string) =>
    page.getByRole('row', { name: new RegExp(name) })

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
    for (const [name, value] of [
      ['path', 'nosuch'],
      ['path', ''],
    ] as const) {
      address.searchParams.set(name, value)
      expect((await page.request.get(address.href)).status()).toBe(404)
    }
  })

  it('has the cards of the day side by side if there is room, and does not break words of the menu', async () => {
    const wide = await scene.visit('/')
    const topOf = async (name: string) => (await wide.getByRole('region', { name }).boundingBox())?.y
    expect(await topOf('Form')).toBeGreaterThan(0)
    expect(await topOf('Signature')).toBe(await topOf('Form'))
    expect(await topOf('This week')).toBe(await topOf('Form'))
    const narrow = await scene.visit('/', PHONE)
    for (const link of await narrow.getByRole('navigation').getByRole('link').all())
      expect((await link.boundingBox())?.height).toBeLessThan(45)
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

  it('fits a telephone, with a card for each row', async () => {
    const page = await scene.visit('/', PHONE)
    await row(page, 'Edited later').first().waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    expect(await page.evaluate('getComputedStyle(document.querySelector("tbody tr")).display')).toBe('flex')
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
})
