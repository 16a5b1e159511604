import type { Page } from 'playwright-core'
import { afterEach, expect, it } from 'vitest'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { countAlong, useScene } from './scene.ts'

describeWithBrowser('the fitness page', () => {
  const scene = useScene({ activities: 60, isMirrored: true })
  afterEach(() => expect(scene.takeComplaints()).toEqual([]))

  const chart = (page: Page, name: RegExp) => page.getByRole('application', { name })
  const one = async (text: string) => (await scene.rows(text))[0] ?? {}

  it('plots the whole history in light and dark, and prints on white without controls', async () => {
    const page = await scene.visit('/fitness', { colorScheme: 'light' })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const [name, lane, colour, last] of [
        [/^Signature/, 0, 'power', 9],
        [/^Signature/, 0, 'best', 9],
        [/^Signature/, 1, 'mpa', 9],
        [/^Signature/, 2, 'heart', 9],
        [/^Training load, recovery/, 0, 'power', 9],
        [/^Training load, recovery/, 0, 'mpa', 9],
        [/^Training load, recovery/, 1, 'best', 9],
        [/^Training load score/, 0, 'low', 9],
        [/^Best mean power/, 0, 'power', 7],
      ] as const) {
        const canvas = chart(page, name).locator('canvas').nth(lane)
        // The first and the last tenth also contain the axes.
        const least = async () => Math.min(...(await countAlong(canvas, colour)).slice(1, last))
        await expect.poll(least, { message: `${name} ${colour} ${colorScheme}` }).toBeGreaterThan(0)
      }
    }
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    for (const hidden of [page.getByRole('navigation'), page.locator('footer'), page.getByLabel('Season')])
      expect(await hidden.isVisible()).toBe(false)
    expect(await page.getByRole('button', { name: 'FTP', exact: true }).isVisible()).toBe(true)
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)')
  })

  it('applies the selected range to every chart of days, and keeps it in the URL', async () => {
    const page = await scene.visit('/fitness')
    const weeksShown = async (name: RegExp) => {
      await chart(page, name).press('Home')
      const readout = page.locator('.chart', { has: chart(page, name) }).locator('.readout')
      const [day = ''] = (await readout.textContent())?.split(':') ?? []
      return (Date.now() - Date.parse(day)) / (7 * 86_400_000)
    }
    expect(await weeksShown(/^Signature/)).toBeGreaterThan(100)
    const button = page.getByRole('button', { name: '6 months' })
    await button.click()
    expect(page.url()).toBe(`${scene.url}/fitness?span=6m`)
    await page.reload()
    await button.and(page.locator('[aria-pressed="true"]')).waitFor()
    for (const name of [/^Signature/, /^Training load, recovery/, /^Training load score/])
      expect(await weeksShown(name)).toBeLessThan(32)

    const best = await one(
      `select season, round(watts::numeric) as watts, activity_id from training.power_bests
       where span = 'season' and duration_s = 300 order by season limit 1`,
    )
    await page.getByLabel('Season').selectOption(String(best.season))
    await page.waitForURL(`${scene.url}/fitness?season=${best.season}`)
    const row = page.getByRole('region', { name: 'Best power' }).getByRole('row', { name: /^5 min/ })
    const cell = row.getByRole('cell').nth(1)
    await expect.poll(() => cell.textContent(), { timeout: 25_000 }).toContain(`${best.watts} W`)
    expect(await cell.textContent()).toMatch(/W\/kg/)
    expect(await cell.getByRole('link').getAttribute('href')).toBe(`/activities/${best.activity_id}`)
    await page.goBack()
    await page.getByRole('button', { name: '6 months', pressed: true }).waitFor()
  })

  it('shows the training info, weeks and month-end signatures that SQL returns', async () => {
    // Moves the training info back two weeks, so that the last week has a recommendation.
    await scene.rows(`update training.training_info set observed_at = observed_at - interval '14 days'`)
    const page = await scene.visit('/fitness')
    const now = await one(
      `select round(ftp::numeric, 1)::float8 as ftp, status, round(target_total * 7) as recommended from training.training_info
       order by observed_at desc limit 1`,
    )
    const numbers = await page.locator('.numbers').textContent()
    expect(numbers).toContain(`Threshold power (FTP)${now.ftp} W`)
    expect(numbers).toContain(`Freshness${now.status}`)

    const week = await one(
      `select to_char(week, 'FMDD Mon YYYY') as week, sum(activities)::int as activities, round(sum(xss))::int as xss
       from training.weekly_summary group by training.weekly_summary.week order by training.weekly_summary.week desc limit 1`,
    )
    const weeks = page.getByRole('region', { name: 'Weeks' })
    await weeks.getByText('As a table').click()
    const row = weeks.getByRole('row', { name: new RegExp(`^${week.week}`) })
    expect(await row.textContent()).toMatch(new RegExp(`${week.week}${week.activities}.*${week.xss}`))
    const recommended = weeks.getByRole('row').nth(1).locator('[data-title="Recommended"]')
    expect(await recommended.textContent()).toBe(String(now.recommended))
    const last = await one(
      `select ftp, ltp, hie_kj, pp from training.fitness_history where at is not null order by at desc limit 1`,
    )
    const write = (value: unknown, digits = 1) =>
      Number(value).toLocaleString('en', { maximumFractionDigits: digits })
    const signature = page.getByRole('region', { name: 'Signature' })
    await signature.getByText('As a table').click()
    expect(await signature.getByRole('row').nth(1).getByRole('cell').allTextContents()).toEqual([
      `${write(last.ftp)} W`,
      `${write(last.ltp)} W`,
      `${write(last.hie_kj)} kJ`,
      `${write(last.pp, 0)} W`,
    ])
  })
})
