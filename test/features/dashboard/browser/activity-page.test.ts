import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { formatStopwatch } from '../../../../src/features/dashboard/shared/format.ts'
import { syncAccount } from '../../../../src/program/app/sync-account.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { countAlong, useScene } from './scene.ts'

const RIDE = {
  path: 'theridehere',
  name: 'Evening intervals',
  description: 'Twice round the lake',
  kind: 'intervals',
  seconds: 3_600,
  started_at: '2026-03-10T16:05:00Z',
  zone: { style: 3, name: 'Europe/Paris' },
}
const BLANK = 0

describeWithBrowser('the page of an activity', () => {
  const scene = useScene({ activities: 12 })
  let path: string
  beforeAll(async () => {
    await scene.steer('POST', 'activities', RIDE)
    const race = { path: 'sameseason', name: 'Race', kind: 'race', seconds: 5_400 }
    await scene.steer('POST', 'activities', { ...RIDE, ...race, started_at: '2026-04-01T08:00:00Z' })
    await syncAccount(scene.app, { name: 'default' })
    path = `/activities/${await keyOf(RIDE.path)}`
  })
  afterEach(() => expect(scene.takeComplaints()).toEqual([]))

  const chart = (page: Page, name: RegExp) => page.getByRole('application', { name })
  const OVER_TIME = /^The activity over time/
  const readout = (page: Page) => page.locator('.chart', { has: chart(page, OVER_TIME) }).locator('.readout')
  /** the canvas of the lane of that name */
  const lane = (page: Page, name: string) =>
    chart(page, OVER_TIME).locator(`.lane[data-lane="${name}"] canvas`)
  const keyOf = (name: string) => scene.activityId(`path = '${name}'`)
  const ride = `training.samples s join training.activities a using (activity_id) where a.path = '${RIDE.path}'`
  const CURVE = /^Power curve/

  it('plots the whole activity in light and dark, and fetches samples once', async () => {
    const page = await scene.visit(path, { colorScheme: 'light' })
    for (const colorScheme of ['light', 'dark'] as const) {
      // Charts follow the system's colour scheme without a reload.
      await page.emulateMedia({ colorScheme })
      for (const [name, colour] of [
        ['Power', 'power'],
        ['MPA (power available)', 'mpa'],
        ['Heart rate', 'heart'],
        ['Speed', 'low'],
      ] as const) {
        // The first and the last tenth also contain the axes.
        const least = async () => Math.min(...(await countAlong(lane(page, name), colour)).slice(1, -1))
        await expect.poll(least, { message: `${name} ${colorScheme}` }).toBeGreaterThan(5)
      }
      expect(Math.max(...(await countAlong(lane(page, 'Heart rate'), 'power')))).toBe(BLANK)
    }
    const fetched = await page.evaluate(
      `performance.getEntriesByType('resource').filter(({ name }) => /\\/samples\\b/.test(name)).map(({ initiatorType }) => initiatorType)`,
    )
    expect(fetched).toEqual(['link'])
  })

  it('plots columns of the FIT file, and a further field on demand', async () => {
    await scene.rows(
      `with ride as (
         select activity_id, account_id, (select min(t) from training.samples s where s.activity_id = a.activity_id) as start
         from training.activities a where path = 'sameseason'),
       upload as (
         insert into training.uploads (account_id, content_id, file_name, size_bytes, state, activity_id, seen_at)
         select account_id, 'recorded', 'race.fit', 1, 'mirrored', activity_id, now() from ride returning account_id),
       file as (
         insert into training.fit_files (account_id, content_id, size_bytes, parts, records, fields, read_at, reader_version)
         select account_id, 'recorded', 1, 1, 1800, '{}', now(), 2 from upload returning file_id)
       insert into training.fit_records (file_id, position, t, temperature, respiration_rate, right_power_pct)
       select file_id, n + 1, start + n * interval '1 s', 20 + n / 300, 18.5, 51 from file, ride, generate_series(0, 1799) n`,
    )
    const page = await scene.visit(`/activities/${await keyOf('sameseason')}`)
    for (const [name, colour] of [
      ['Temperature', 'best'],
      ['Respiration', 'low'],
      ['Right leg', 'mpa'],
    ] as const) {
      const pixels = await countAlong(lane(page, name), colour)
      // The FIT file ends after a third of the ride.
      expect(pixels[2], name).toBeGreaterThan(5)
      expect(pixels[7], name).toBe(BLANK)
    }
    await chart(page, OVER_TIME).press('Home')
    expect(await readout(page).textContent()).toMatch(
      /Temperature 20(\.0)? °C · Respiration 18\.5 breaths\/min · Right leg 51 %/,
    )
    await page.getByText('Further fields from the service').click()
    const button = page.getByRole('group', { name: 'Further fields' }).getByRole('button', { name: 'tws' })
    await button.click()
    await lane(page, 'tws').waitFor()
    await button.click()
    await lane(page, 'tws').waitFor({ state: 'detached' })
  })

  it('can be read, zoomed and reduced to some lines by keyboard, in local time', async () => {
    const page = await scene.visit(path)
    await chart(page, OVER_TIME).focus()
    await page.keyboard.press('Home')
    expect(await readout(page).textContent()).toMatch(
      /^0:00 \(17:05\): Elevation [^·]+ · Power \d+ W · MPA \(power available\) \d+ W · Heart rate \d+ bpm/,
    )
    await page.keyboard.press('Shift+ArrowRight')
    const [later] = await scene.rows(
      `select round(s.power)::int as power, round(s.hr)::int as hr from ${ride} order by s.t offset 360 limit 1`,
    )
    expect(await readout(page).textContent()).toMatch(
      new RegExp(`^6:00 \\(17:11\\): [^(]*Power ${later?.power} W .*Heart rate ${later?.hr} bpm`),
    )
    const all = page.getByRole('button', { name: 'Show all' }).first()
    // Each key press zooms from the range of the key press before.
    const within = page.getByLabel('To', { exact: true })
    for (const keys of [1, 5]) {
      for (let pressed = 0; pressed < keys; pressed++) await page.keyboard.press('+')
      await all.waitFor()
      const ends = Array.from({ length: keys }).reduce<number>((end) => 360 + (end - 360) * 0.6, 3_599)
      await expect.poll(() => within.inputValue()).toBe(formatStopwatch(ends))
      await page.keyboard.press('Escape')
      await all.waitFor({ state: 'hidden' })
    }
    // A drag also zooms, and a double click resets the zoom.
    const box = await lane(page, 'Power').boundingBox()
    const at = (share: number) => [(box?.x ?? 0) + (box?.width ?? 0) * share, (box?.y ?? 0) + 40] as const
    await page.mouse.move(...at(0.4))
    await page.mouse.down()
    await page.mouse.move(...at(0.6), { steps: 3 })
    await page.mouse.up()
    await all.waitFor()
    expect(await within.inputValue()).toMatch(/^3\d:\d\d$/)
    await page.mouse.dblclick(...at(0.5))
    await all.waitFor({ state: 'hidden' })

    const canvas = lane(page, 'MPA (power available)')
    const sum = async () => (await countAlong(canvas, 'mpa')).reduce((total, pixels) => total + pixels)
    expect(await sum()).toBeGreaterThan(100)
    const button = page.getByRole('button', { name: 'MPA (power available)' })
    await button.focus()
    await page.keyboard.press('Enter')
    expect(await button.getAttribute('aria-pressed')).toBe('false')
    await canvas.waitFor({ state: 'hidden' })
    await page.keyboard.press('Enter')
    await expect.poll(sum).toBeGreaterThan(100)
  })

  it('shows the derived values, zones and power curve that SQL returns', async () => {
    const page = await scene.visit(path)
    const value = (name: string) =>
      page.locator(`dl.numbers.wide > div:has(dt:text-is("${name}")) dd`).first()
    const [derived] = await scene.rows(
      `select round(avg(coalesce(s.p_raw, s.power)))::int as mean, round(max(coalesce(s.p_raw, s.power)))::int as highest from ${ride}`,
    )
    await expect.poll(() => value('Power').textContent()).toContain(`${derived?.mean} W`)
    await expect.poll(() => value('Power').textContent()).toContain(`highest ${derived?.highest} W`)
    expect(await value('Weighted mean power').textContent()).toMatch(/^\d+ W/)
    expect(await value('Work').textContent()).toMatch(/^[\d,]+ kJ/)
    expect(await value('Time').textContent()).toContain('moving')
    await page.getByText('the fourth root of the mean of P⁴').waitFor()

    const zones = page.getByRole('region', { name: 'Zones' })
    const [known] = await scene.rows(
      `select i.power_z2_s as z2, round(i.ftp)::int as ftp from training.activity_intensity i join training.activities a using (activity_id)
       where a.path = '${RIDE.path}'`,
    )
    const table = zones.getByRole('table', { name: /^Power zones/ })
    expect(await table.locator('caption').textContent()).toContain(
      `threshold power after this activity, ${known?.ftp} W`,
    )
    const z2 = Number(known?.z2)
    const time = `${Math.floor(z2 / 60)}:${String(z2 % 60).padStart(2, '0')}`
    expect(await table.getByRole('row', { name: /^Z2/ }).textContent()).toContain(time)

    const canvas = chart(page, CURVE).locator('canvas')
    for (const colour of ['power', 'best'])
      for (const pixels of (await countAlong(canvas, colour)).slice(1, 8)) expect(pixels).toBeGreaterThan(5)
    const [watts] = await scene.rows(
      `select round(max(c.watts))::int as best, round(max(c.watts) filter (where a.path = '${RIDE.path}'))::int as own
       from training.power_curves c join training.activities a using (activity_id)
       where c.duration_s = 300 and extract(year from a.started_at_local) = 2026`,
    )
    const row = page.getByRole('row', { name: /^5 min/ })
    expect(await row.textContent()).toContain(`${watts?.own} W${watts?.best} W`)
  })

  it('shows an edit of the samples without a reload', async () => {
    const page = await scene.visit(path)
    const words = page.getByRole('region', { name: 'Over time' }).locator('figcaption')
    const before = await words.textContent()
    await scene.steer('PATCH', `activities/${RIDE.path}`, { scale_power: 1.2 })
    await syncAccount(scene.app, { name: 'default' })
    await expect.poll(() => words.textContent(), { timeout: 15_000 }).not.toBe(before)
    await page.getByText(/Changed by the service (once|twice|\d+ times)/).waitFor()
    await scene.rows(
      `insert into training.activity_revisions (activity_id, observed_at, changes)
       select activity_id, now(), '{"xss": [50, 61.5], "summary_hash": ["a", "b"]}' from training.activities where path = '${RIDE.path}'`,
    )
    await page.reload()
    const changes = page.getByRole('region', { name: 'What the service changed' })
    expect(await changes.textContent()).toMatch(/XSS5061\.5/)
    expect(await changes.textContent()).not.toContain('summary_hash')
  })

  it('says that samples are missing, and shows them when they arrive', async () => {
    const set = (values: string) =>
      scene.rows(`update training.activities set ${values} where path = 'sameseason'`)
    await set(`detail_state = 'awaiting_samples', sample_count = 0`)
    const page = await scene.visit(`/activities/${await keyOf('sameseason')}`)
    const missing = page.getByText('The service has no samples of this activity yet')
    await missing.waitFor()
    await expect.poll(() => page.locator('#main canvas').count()).toBe(1)
    await set(`detail_state = 'mirrored', sample_count = 5400`)
    await chart(page, OVER_TIME).locator('canvas').first().waitFor()
    await missing.waitFor({ state: 'detached' })
  })

  it('summarizes a section selected by times, with the pace of a run', async () => {
    await scene.rows(`update training.activities set activity_type = 'Running' where path = '${RIDE.path}'`)
    const page = await scene.visit(path)
    await chart(page, OVER_TIME).press('Home')
    expect(await readout(page).textContent()).toMatch(/ · Pace (\d+:\d\d|–) \/km/)
    expect(await page.locator('dl').first().textContent()).toMatch(
      /\d:\d\d \/km moving, highest \d:\d\d \/km/,
    )
    const stretch = page.getByRole('region', { name: 'A section' })
    await stretch.getByLabel('From').fill('10:00')
    await stretch.getByLabel('To').fill('20:00')
    await stretch.getByRole('button', { name: 'Select the section' }).click()
    const [mean] = await scene.rows(
      `select round(avg(w))::int as watts from (
         select coalesce(s.p_raw, s.power) as w, s.t - min(s.t) over () as at from ${ride}) x
       where at between interval '10 min' and interval '20 min'`,
    )
    const summed = new RegExp(`^Time10:00.*Power${mean?.watts} W`)
    await expect.poll(() => stretch.locator('dl').textContent()).toMatch(summed)
    expect(await stretch.locator('dl').textContent()).toMatch(/Pace\d:\d\d \/km/)
    await page.getByRole('button', { name: 'Show all' }).first().click()
    await stretch.getByText('drag across the charts').waitFor()
    await scene.rows(`update training.activities set activity_type = 'Cycling' where path = '${RIDE.path}'`)
  })

  it('draws the route, marks the place pointed at in the charts, and zooms', async () => {
    const page = await scene.visit(path)
    const map = page.getByRole('application', { name: /^The route/ })
    const sum = async (colour: string) =>
      (await countAlong(map, colour)).reduce((all, count) => all + count, 0)
    await expect.poll(() => sum('accent')).toBeGreaterThan(300)
    expect(await sum('heart')).toBe(0)
    await chart(page, OVER_TIME).focus()
    await page.keyboard.press('Home')
    await expect.poll(() => sum('heart')).toBeGreaterThan(0)
    const start = await countAlong(map, 'heart')
    for (const _ of [1, 2, 3, 4]) await page.keyboard.press('Shift+ArrowRight')
    await expect.poll(() => countAlong(map, 'heart')).not.toEqual(start)
    await page.getByText('MUSETTE_MAP_TILES').waitFor()

    const whole = await countAlong(map, 'accent')
    for (const _ of [1, 2]) await page.getByRole('button', { name: 'Zoom in' }).click()
    await expect.poll(() => sum('heart')).toBeGreaterThan(0)
    const enlarged = await countAlong(map, 'accent')
    expect(enlarged).not.toEqual(whole)
    await map.press('0')
    await expect.poll(() => map.getAttribute('class')).toBeNull()
  })

  it('shows map tiles with their attribution, and no broken tiles', async () => {
    const page = await scene.visit(path, { pauses: true })
    const tile = `${scene.url}/assets/shared/styles/icon.svg?of={z}-{x}-{y}`
    await page.route('**/api/activities/*', async (route) => {
      const response = await route.fetch()
      const changed = response.status() === 200 && { json: { ...(await response.json()), map_tiles: tile } }
      await route.fulfill({ response, ...changed })
    })
    await page.route(/icon\.svg\?of=\d+-\d*[02468]-/, (route) => route.abort())
    await page.reload()
    const map = page.getByRole('application', { name: /^The route/ })
    // The icon's background has the accent colour of the light palette.
    await expect.poll(async () => Math.max(...(await countAlong(map, 'accent')))).toBeGreaterThan(1_000)
    await page.getByRole('link', { name: '© OpenStreetMap contributors' }).waitFor()
    scene.takeComplaints()
  })

  it('is a line on the map of all activities, named on Enter or a click', async () => {
    await scene.rows(`update training.activities set activity_type = 'Swimming' where path = '${RIDE.path}'`)
    const page = await scene.visit('/map', {})
    const map = page.getByRole('application', { name: /^Map of \d+ activities/ })
    const count = async () => Number((await map.getAttribute('aria-label'))?.match(/\d+/)?.[0])
    const tracks = `from training.activities where start_lat is not null and absent_since is null`
    const [all] = await scene.rows(`select count(*)::int as count ${tracks}`)
    await expect.poll(count).toBe(all?.count)
    await page.getByLabel('Sport').selectOption('Swimming')
    const [swims] = await scene.rows(
      `select count(*)::int as count, min(name) as name ${tracks} and sport = 'swimming'`,
    )
    await expect.poll(count).toBe(swims?.count)
    await page.getByLabel('Year').selectOption('2026')
    expect(page.url()).toBe(`${scene.url}/map?sport=swimming&year=2026`)
    const dark = () => countAlong(map, 'accent')
    await expect.poll(async () => Math.max(...(await dark()))).toBeGreaterThan(0)

    // Clicks down a column that contains a line until a click hits the line.
    const { width = 0, height = 0 } = (await map.boundingBox()) ?? {}
    const column = ((await dark()).findIndex((pixels) => pixels > 0) + 0.5) * (width / 10)
    const name = page.getByRole('status').getByRole('link').first()
    for (let y = 4; y < height && (await name.count()) === 0; y += 12)
      await map.click({ position: { x: column, y } })
    expect(await name.textContent()).toBe(swims?.name)
    expect(Math.max(...(await countAlong(map, 'heart')))).toBeGreaterThan(0)
    const near = page.waitForResponse(/\/api\/map\/near/)
    // A busy browser may report sizes only after it has handled keys.
    await page.addInitScript('ResizeObserver.prototype.observe = () => undefined')
    await page.reload()
    await map.focus()
    await page.keyboard.press('+')
    await page.keyboard.press('ArrowLeft')
    expect(await name.count()).toBe(0)
    expect((await (await near).json()).pieces.length).toBeGreaterThan(0)
    await expect.poll(async () => Math.max(...(await dark()))).toBeGreaterThan(0)
    await scene.rows(`update training.activities set activity_type = 'Cycling' where path = '${RIDE.path}'`)
  })

  it('compares the power curve with the signature and another activity', async () => {
    const page = await scene.visit(path)
    const compared = page.getByLabel('Compared with')
    await compared.selectOption('Signature after this activity')
    await chart(page, /Signature after this activity/).waitFor()
    await compared.selectOption('Another activity…')
    await page.getByLabel('Search in names and descriptions').fill('Race')
    await page.getByRole('button', { name: /^Race, / }).click()
    await chart(page, /: Race\./).waitFor()
    await page.getByRole('link', { name: '1 Apr 2026' }).first().waitFor()
  })

  it('links to downloads of every second, the FIT file and its neighbours', async () => {
    const page = await scene.visit(path)
    const original = page.getByRole('link', { name: 'Original FIT' })
    const download = async (name: string) => {
      const href = await page.getByRole('link', { name, exact: true }).getAttribute('href')
      const answer = await page.request.get(new URL(href ?? '', page.url()).href)
      return [answer.headers()['content-disposition'], String(await answer.body())] as const
    }
    for (const [name, begins] of [
      ['CSV', 'activity_id,path,t,'],
      ['JSON', '{"activity":{'],
      ['Parquet', 'PAR1'],
    ] as const) {
      const [disposition, text] = await download(name)
      expect(disposition).toContain(`2026-03-10 ${RIDE.name}.${name.toLowerCase()}`)
      expect(text.slice(0, begins.length)).toBe(begins)
    }
    expect(await original.count()).toBe(0)
    await scene.rows(
      `with of as (select * from training.activities where path = '${RIDE.path}'),
       upload as (insert into training.uploads (account_id, content_id, file_name, size_bytes, state, activity_id, activity_path, seen_at)
         select account_id, 'c1', 'a.fit', 8, 'mirrored', activity_id, path, now() from of),
       file as (insert into training.fit_files (account_id, content_id, size_bytes, parts, records, fields, read_at)
         select account_id, 'c1', 8, 1, 0, '{}', now() from of)
       insert into training.fit_originals (account_id, content_id, encoding, body) select account_id, 'c1', 'gzip', $1 from of`,
      [gzipSync('FITBYTES')],
    )
    await original.waitFor()
    const [disposition, text] = await download('Original FIT')
    expect([disposition, text]).toEqual([expect.stringContaining(`2026-03-10 ${RIDE.name}.fit`), 'FITBYTES'])
    for (const [link, heading] of [
      ['Newer', 'Race'],
      ['Older', RIDE.name],
      ['All activities', 'Activities'],
    ] as const) {
      await page.getByRole('link', { name: link }).click()
      await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    }
  })

  it('shows an activity of one second without power, and no missing value as zero', async () => {
    const [made] = await scene.rows(
      `insert into training.activities (account_id, path, name, started_at, started_at_local, detail_state, sample_count, elapsed_s, listed_at, wanted_at)
       select account_id, 'onesecond', 'One second', '2026-02-01 10:00Z', '2026-02-01 10:00', 'mirrored', 1, 0, now(), now()
       from training.accounts returning activity_id`,
    )
    await scene.rows(
      `insert into training.samples (activity_id, t, hr) values ($1, '2026-02-01 10:00Z', 77)`,
      [made?.activity_id],
    )
    const page = await scene.visit(`/activities/${made?.activity_id}`)
    await page.getByText('No power was recorded.').waitFor()
    expect(await page.getByRole('heading', { name: 'Route' }).count()).toBe(0)
    expect(await page.locator('main').textContent()).not.toMatch(/\b0 W\b|0 kJ|NaN/)
  })

  it('shows the rides on its route, its rank and the yearly trend', async () => {
    const paths = `'${RIDE.path}', 'sameseason'`
    await scene.rows(
      `update musette.ride_tracks set route_id = 9999 from training.activities a
       where a.activity_id = ride_tracks.activity_id and a.path in (${paths})`,
    )
    await scene.rows(
      `update training.ride_measures m set route_id = 9999, moving_s = case a.path when 'sameseason' then 3300 else 3000 end
       from training.activities a where a.activity_id = m.activity_id and a.path in (${paths})`,
    )
    const page = await scene.visit(path)
    const section = page.getByRole('region', { name: 'Rides on this route' })
    const place = 'By moving time this ride is number 1 of 2'
    expect(await section.locator('p').textContent()).toBe(`${place}.`)
    const later = '2027-03-10 16:05'
    await scene.rows(
      `update training.activities set started_at = '${later}Z', started_at_local = '${later}' where path = 'sameseason'`,
    )
    await section.getByText(`${place}; the trend is 5:00 slower each year.`).waitFor()
    expect(await section.getByRole('row').allTextContents()).toEqual([
      expect.stringContaining('Difference from mean'),
      expect.stringMatching(/^10 Mar 202755:00\+4\.8 %/),
      expect.stringMatching(/^10 Mar 202650:00−4\.8 %/),
    ])
  })
})
