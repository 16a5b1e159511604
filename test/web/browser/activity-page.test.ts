import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { syncAccount } from '../../../src/app/sync-account.ts'
import { describeWithBrowser } from '../../kit/chromium.ts'
import { countAlong, openScene, PHONE, type Scene } from './scene.ts'

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
  let scene: Scene
  let path: string
  beforeAll(async () => {
    scene = await openScene({ activities: 12 })
    await scene.steer('POST', 'activities', RIDE)
    await scene.steer('POST', 'activities', {
      ...RIDE,
      path: 'sameseason',
      name: 'Race',
      kind: 'race',
      seconds: 5_400,
      started_at: '2026-04-01T08:00:00Z',
    })
    await syncAccount(scene.app, { name: 'default' })
    path = `/activities/${await scene.activityId(`path = '${RIDE.path}'`)}`
  })
  afterEach(() => expect(scene.takeComplaints()).toEqual([]))
  afterAll(() => scene.close())

  const chart = (page: Awaited<ReturnType<Scene['visit']>>, name: RegExp) =>
    page.getByRole('application', { name })
  const OVER_TIME = /^Power, MPA and heart rate/
  const CURVE = /^Power curve/

  for (const scheme of ['light', 'dark'] as const) {
    it(`plots power, MPA and heart rate over the whole activity, in a ${scheme} page`, async () => {
      const page = await scene.visit(path, { colorScheme: scheme })
      const [watts, beats] = [0, 1].map((lane) => chart(page, OVER_TIME).locator('canvas').nth(lane))
      if (!watts || !beats) throw new Error('there are two lanes')
      // The first and the last tenth hold the axes, too.
      for (const colour of ['power', 'mpa'])
        for (const pixels of (await countAlong(watts, colour)).slice(1, -1))
          expect(pixels).toBeGreaterThan(10)
      for (const pixels of (await countAlong(beats, 'heart')).slice(1, -1)) expect(pixels).toBeGreaterThan(10)
      expect((await countAlong(beats, 'power')).reduce((sum, pixels) => sum + pixels)).toBe(BLANK)
    })
  }

  it('turns its charts dark when the system does', async () => {
    const page = await scene.visit(path, { colorScheme: 'light' })
    const canvas = chart(page, OVER_TIME).locator('canvas').first()
    await canvas.waitFor()
    await page.emulateMedia({ colorScheme: 'dark' })
    await expect.poll(async () => (await countAlong(canvas, 'mpa'))[5]).toBeGreaterThan(10)
  })

  it('plots the power curve against the best of the season, and shows the same in a table', async () => {
    const page = await scene.visit(path)
    const canvas = chart(page, CURVE).locator('canvas')
    for (const colour of ['power', 'best'])
      for (const pixels of (await countAlong(canvas, colour)).slice(1, 8)) expect(pixels).toBeGreaterThan(5)
    const [best] = await scene.rows(
      `select round(max(c.watts))::int as watts from training.power_curves c join training.activities a using (activity_id)
       where c.duration_s = 300 and extract(year from a.started_at_local) = 2026`,
    )
    const [own] = await scene.rows(
      `select round(c.watts)::int as watts from training.power_curves c join training.activities a using (activity_id)
       where c.duration_s = 300 and a.path = '${RIDE.path}'`,
    )
    const row = page.getByRole('row', { name: /^5 min/ })
    expect(await row.textContent()).toContain(`${own?.watts} W${best?.watts} W`)
  })

  it('is read by keyboard, at the activity’s own time of day', async () => {
    const page = await scene.visit(path)
    const stage = chart(page, OVER_TIME)
    await stage.focus()
    await page.keyboard.press('Home')
    const readout = page.locator('.chart', { has: stage }).locator('.readout')
    expect(await readout.textContent()).toMatch(
      /^0:00 \(17:05\): Power \d+ W · MPA \(power available\) \d+ W · Heart rate \d+ \/min$/,
    )
    await page.keyboard.press('Shift+ArrowRight')
    const [later] = await scene.rows(
      `select round(s.power)::int as power, round(s.hr)::int as hr from training.samples s join training.activities a using (activity_id)
       where a.path = '${RIDE.path}' order by s.t offset 360 limit 1`,
    )
    expect(await readout.textContent()).toMatch(
      new RegExp(`^6:00 \\(17:11\\): Power ${later?.power} W .* ${later?.hr} /min$`),
    )
  })

  it('zooms by keyboard, and shows all again', async () => {
    const page = await scene.visit(path)
    const all = page.getByRole('button', { name: 'Show all' }).first()
    await chart(page, OVER_TIME).focus()
    await page.keyboard.press('+')
    await all.waitFor()
    await page.keyboard.press('Escape')
    await all.waitFor({ state: 'hidden' })
  })

  it('takes a line off the chart and puts it back, by keyboard', async () => {
    const page = await scene.visit(path)
    const canvas = chart(page, OVER_TIME).locator('canvas').first()
    const sum = async () => (await countAlong(canvas, 'mpa')).reduce((total, pixels) => total + pixels)
    expect(await sum()).toBeGreaterThan(100)
    const button = page.getByRole('button', { name: 'MPA (power available)' })
    await button.focus()
    await page.keyboard.press('Enter')
    expect(await button.getAttribute('aria-pressed')).toBe('false')
    await expect.poll(sum).toBe(BLANK)
    await page.keyboard.press('Enter')
    await expect.poll(sum).toBeGreaterThan(100)
  })

  it('describes the plot in words and in a table', async () => {
    const page = await scene.visit(path)
    expect(await page.getByRole('region', { name: 'Over time' }).locator('figcaption').textContent()).toMatch(
      /long\. Power: \d+ W on average, \d+ W at most\. MPA fell to \d+ W\./,
    )
    await page.getByText('As a table').focus()
    await page.keyboard.press('Enter')
    const rows = page.getByRole('table', { name: /equal steps/ }).getByRole('row')
    expect(await rows.count()).toBeGreaterThan(10)
  })

  it('follows an edit of its samples without a reload', async () => {
    const page = await scene.visit(path)
    const words = page.getByRole('region', { name: 'Over time' }).locator('figcaption')
    const before = await words.textContent()
    await scene.steer('PATCH', `activities/${RIDE.path}`, { scale_power: 1.2 })
    await syncAccount(scene.app, { name: 'default' })
    await expect.poll(() => words.textContent(), { timeout: 15_000 }).not.toBe(before)
    await page.getByText(/The service has changed it (once|twice|\d+ times)/).waitFor()
  })

  it('says when the samples are not there yet, and shows them when they are', async () => {
    await scene.rows(
      `update training.activities set detail_state = 'awaiting_samples', sample_count = 0 where path = 'sameseason'`,
    )
    const page = await scene.visit(`/activities/${await scene.activityId(`path = 'sameseason'`)}`)
    await page.getByText('The service has no samples of this activity yet').waitFor()
    expect(await page.locator('#main canvas').count()).toBe(1)
    await scene.rows(
      `update training.activities set detail_state = 'mirrored', sample_count = 5400 where path = 'sameseason'`,
    )
    await chart(page, OVER_TIME).locator('canvas').first().waitFor()
    await page.getByText('The service has no samples of this activity yet').waitFor({ state: 'detached' })
  })

  it('fits a telephone, chart included', async () => {
    const page = await scene.visit(path, PHONE)
    await chart(page, CURVE).locator('canvas').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    const box = await chart(page, OVER_TIME).locator('canvas').first().boundingBox()
    expect(box?.width).toBeGreaterThan(250)
    expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThan(390)
  })

  it('links to the older and the newer activity', async () => {
    const page = await scene.visit(path)
    await page.getByRole('link', { name: 'Newer' }).click()
    await page.getByRole('heading', { level: 1, name: 'Race' }).waitFor()
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByRole('heading', { level: 1, name: RIDE.name }).waitFor()
  })
})
