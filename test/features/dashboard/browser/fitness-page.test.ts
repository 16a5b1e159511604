import type { Page } from 'playwright-core'
import { afterEach, expect, it } from 'vitest'
import { signInWithPassword } from '../../../../src/program/app/sign-in.ts'
import { syncAccount } from '../../../../src/program/app/sync-account.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { countAlong, useScene } from './scene.ts'

describeWithBrowser('the fitness page', () => {
  const scene = useScene({ activities: 60, isMirrored: true })
  afterEach(() => expect(scene.takeComplaints()).toEqual([]))

  const chart = (page: Page, name: RegExp) => page.getByRole('application', { name })
  it.each(['light', 'dark'] as const)(
    'plots signature, load, form, weeks and bests over all the years, in a %s page',
    async (colorScheme) => {
      const page = await scene.visit('/fitness', { colorScheme })
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
        const counts = await countAlong(chart(page, name).locator('canvas').nth(lane), colour)
        // The first and the last tenth hold the axes, too.
        expect(Math.min(...counts.slice(1, last)), `${name} ${colour}`).toBeGreaterThan(0)
      }
    },
  )

  it('has the selected range in every chart of days', async () => {
    const page = await scene.visit('/fitness')
    const weeksShown = async (name: RegExp) => {
      await chart(page, name).focus()
      await page.keyboard.press('Home')
      const text = await page
        .locator('.chart', { has: chart(page, name) })
        .locator('.readout')
        .textContent()
      return (Date.now() - Date.parse(text?.split(':')[0] ?? '')) / (7 * 86_400_000)
    }
    expect(await weeksShown(/^Signature/)).toBeGreaterThan(100)
    const button = page.getByRole('button', { name: '6 months' })
    await button.click()
    expect(await button.getAttribute('aria-pressed')).toBe('true')
    for (const name of [/^Signature/, /^Training load, recovery/, /^Training load score/])
      expect(await weeksShown(name)).toBeLessThan(32)
  })

  it('shows the last training info, weeks as the SQL views sum them up, and the signature of each month’s end, newest first', async () => {
    const page = await scene.visit('/fitness')
    const [now] = await scene.rows(
      'select round(ftp::numeric, 1)::float8 as ftp, status from training.training_info',
    )
    const numbers = await page.locator('.numbers').textContent()
    expect(numbers).toContain(`Threshold power (FTP)${now?.ftp} W`)
    expect(numbers).toContain(`Freshness${now?.status}`)

    const [week] = await scene.rows(
      `select to_char(week, 'FMDD Mon YYYY') as week, sum(activities)::int as activities, round(sum(xss))::int as xss
       from training.weekly_summary group by training.weekly_summary.week order by training.weekly_summary.week desc limit 1`,
    )
    await page.getByRole('region', { name: 'Weeks' }).getByText('As a table').click()
    const row = page.getByRole('row', { name: new RegExp(`^${week?.week}`) })
    expect(await row.textContent()).toMatch(new RegExp(`${week?.week}${week?.activities}.*${week?.xss}`))

    const [last] = await scene.rows(
      `select ftp, ltp, hie_kj, pp from training.fitness_history where at is not null order by at desc limit 1`,
    )
    const write = (value: unknown, digits: number) =>
      Number(value).toLocaleString('en', { maximumFractionDigits: digits })
    const region = page.getByRole('region', { name: 'Signature' })
    await region.getByText('As a table').click()
    expect(await region.getByRole('row').nth(1).getByRole('cell').allTextContents()).toEqual([
      `${write(last?.ftp, 1)} W`,
      `${write(last?.ltp, 1)} W`,
      `${write(last?.hie_kj, 1)} kJ`,
      `${write(last?.pp, 0)} W`,
    ])
  })

  it('follows a new activity without a reload', async () => {
    const page = await scene.visit('/fitness')
    const caption = page.getByRole('region', { name: 'Load and form' }).locator('figcaption')
    const before = await caption.textContent()
    await scene.steer('POST', 'activities', { name: 'Hard one', kind: 'race', seconds: 7_200 })
    await syncAccount(scene.app, { name: 'default' })
    await expect.poll(() => caption.textContent(), { timeout: 25_000 }).not.toBe(before)
  })

  it('keeps the range in the address, and a season with its bests', async () => {
    const page = await scene.visit('/fitness')
    await page.getByRole('button', { name: '1 year' }).click()
    expect(page.url()).toBe(`${scene.url}/fitness?span=1y`)
    await page.reload()
    await page.locator('main h1').waitFor()
    expect(await page.getByRole('button', { name: '1 year' }).getAttribute('aria-pressed')).toBe('true')

    const [best] = await scene.rows(
      `select season, round(watts::numeric) as watts, activity_id, to_char(day, 'FMDD Mon YYYY') as day
       from training.power_bests where span = 'season' and duration_s = 300 order by season limit 1`,
    )
    await page.getByLabel('Season').selectOption(String(best?.season))
    await page.waitForURL(`${scene.url}/fitness?season=${best?.season}`)
    const row = page.getByRole('region', { name: 'Best power' }).getByRole('row', { name: /^5 min/ })
    await row.waitFor()
    const cell = row.getByRole('cell').nth(1)
    await expect.poll(() => cell.textContent(), { timeout: 25_000 }).toContain(`${best?.watts} W`)
    expect(await cell.textContent()).toMatch(/W\/kg/)
    expect(await cell.getByRole('link').getAttribute('href')).toBe(`/activities/${best?.activity_id}`)
    await page.goBack()
    await page.getByRole('button', { name: '1 year', pressed: true }).waitFor()
  })

  it('shows each week’s load against the recommended one, and its ramp', async () => {
    const page = await scene.visit('/fitness')
    const [sums] = await scene.rows(
      `with loads as (
         select distinct on (1) date_trunc('week', day::timestamp) as week, tl_total from training.form_history order by 1 desc, at desc
       ), ramps as (
         select week, tl_total - lag(tl_total) over (order by week) as ramp, week - lag(week) over (order by week) as gap from loads
       ) select to_char(week, 'FMDD Mon YYYY') as week, ramp::float8 from ramps where gap = interval '7 days' and abs(ramp) > 0.1 order by week desc limit 1`,
    )
    await page.getByRole('region', { name: 'Weeks' }).getByText('As a table').click()
    const cells = page.getByRole('row', { name: new RegExp(`^${sums?.week}`) }).getByRole('cell')
    expect(Number((await cells.last().textContent())?.replace('−', '-'))).toBeCloseTo(Number(sums?.ramp), 0)
    await scene.rows(`update training.training_info set observed_at = observed_at - interval '14 days'`)
    const [info] = await scene.rows(
      'select round(target_total * 7) as week from training.training_info order by observed_at desc limit 1',
    )
    await page.reload()
    await page.getByRole('region', { name: 'Weeks' }).getByText('As a table').click()
    const last = page.getByRole('region', { name: 'Weeks' }).getByRole('row').nth(1)
    expect(await last.locator('[data-title="Recommended"]').textContent()).toBe(String(info?.week))
  })

  it('keeps two accounts apart', async () => {
    const login = { name: 'second', username: 'second', password: 'second', keepPassword: false }
    await signInWithPassword(scene.app, login)
    const page = await scene.visit('/fitness')
    await page.getByRole('link', { name: 'second' }).click()
    const nothing = page.getByText('Nothing of this account is mirrored yet')
    expect(await nothing.locator('code').textContent()).toBe('musette sync second')
    expect(await page.getByRole('link', { name: 'second' }).getAttribute('aria-current')).toBe('true')
    expect(await page.locator('canvas').count()).toBe(0)
  })
})
