import type { Page } from 'playwright-core'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { useScene } from './scene.ts'

const COPIES = 3_000

describeWithBrowser('the list of activities', () => {
  const scene = useScene({ activities: 6, isMirrored: true })
  beforeAll(async () => {
    // One activity every eight hours, back from the end of 2024; every tenth has no power, and one of these is absent.
    await scene.rows(
      `insert into training.activities (account_id, path, name, description, activity_type, started_at, started_at_local,
         detail_state, elapsed_s, distance, avg_power, xss, breakthrough, listed_at, wanted_at, absent_since)
       select account_id, 'copy' || n, 'Copy ' || n, case when n = 2500 then 'Twice round the 100% lake' end,
         case when n % 5 = 0 then 'Running' else 'Cycling' end, at, at at time zone 'UTC', 'mirrored', n, 10,
         case when n % 10 > 0 then 200 end, n, case when n = 77 then 2 else 0 end, now(), now(), case when n = 10 then now() end
       from training.accounts, generate_series(1, ${COPIES}) n, lateral (select timestamptz '2024-12-31 12:00Z' - n * interval '8 hours' as at) t`,
    )
  })
  afterEach(() => expect(scene.takeComplaints()).toEqual([]))

  const sums = (page: Page) => page.locator('.sums')
  const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })
  const listed = COPIES + 6 - 1

  it('scrolls through thousands of activities with few rows in the DOM', async () => {
    const page = await scene.visit('/activities')
    await expect.poll(() => sums(page).textContent()).toContain(`${listed.toLocaleString('en')} activities`)
    const table = page.getByRole('table', { name: /Activities/ })
    expect(await table.getAttribute('aria-rowcount')).toBe(String(listed + 1))
    const last = page.locator('.activities tbody tr:not(.spacer)').last()
    await page.keyboard.press('End')
    await expect.poll(() => last.getAttribute('aria-rowindex')).toBe(String(listed + 1))
    await expect.poll(() => last.getAttribute('class')).not.toBe('pending')
    expect(await last.textContent()).toContain(`Copy ${COPIES}`)
    expect(await page.locator('.activities tbody tr').count()).toBeLessThan(100)
  })

  it('returns with Back to the opened row, with its search and focus', async () => {
    const page = await scene.visit('/activities?type=Cycling')
    await page.locator('.activities tbody a').first().waitFor()
    await page.evaluate('scrollTo(0, 45000)')
    const opened = page.locator('.activities tbody a').nth(20)
    await expect.poll(() => page.evaluate('scrollY')).toBeGreaterThan(40_000)
    await expect.poll(() => opened.textContent()).toMatch(/^Copy \d{3,}/)
    const [name, y] = [await opened.textContent(), await page.evaluate('scrollY')]
    await link(page, name ?? '').click()
    await page.getByRole('heading', { level: 1, name: name ?? '' }).waitFor()
    await page.goBack()
    await link(page, name ?? '').waitFor()
    expect(new URL(page.url()).search).toBe('?type=Cycling')
    await expect.poll(() => page.evaluate('scrollY')).toBe(y)
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe(name)
  })

  it('searches names and descriptions, filters, and keeps its state in the URL', async () => {
    const page = await scene.visit('/activities')
    await page.getByRole('searchbox').fill('100% LAKE')
    await link(page, 'Copy 2500').waitFor()
    await expect.poll(() => sums(page).textContent()).toContain('1 activity')
    await page.reload()
    await link(page, 'Copy 2500').waitFor()
    expect(await page.getByRole('searchbox').inputValue()).toBe('100% LAKE')
    await page.getByRole('button', { name: 'Remove the filter “100% LAKE”' }).click()
    await expect.poll(() => sums(page).textContent()).toContain(`${listed.toLocaleString('en')} activities`)

    const choose = (label: string, option: string) =>
      page.getByLabel(label, { exact: true }).selectOption(option)
    const expectTotal = async (rule: string) => {
      const found = await scene.rows(
        `select from training.activities where path like 'copy%' and absent_since is null and ${rule}`,
      )
      const wanted = found.length === 1 ? '1 activity' : `${found.length.toLocaleString('en')} activities`
      await expect.poll(async () => (await sums(page).textContent())?.split(' · ')[0]).toBe(wanted)
    }
    await page.goto(`${scene.url}/activities?search=copy`)
    await choose('Type', 'Running')
    await choose('Power', 'without power')
    await expectTotal(`activity_type = 'Running' and avg_power is null`)
    await page.getByRole('button', { name: 'Remove all filters' }).click()
    await choose('Length', 'under 1 h')
    await page.getByRole('button', { name: '2023' }).click()
    await expectTotal(`extract(year from started_at_local) = 2023 and elapsed_s < 3600`)
    await page.goBack()
    await page.goBack()
    await choose('Breakthrough', 'breakthroughs only')
    await expectTotal('breakthrough > 0')
  })

  it('sorts by a column in both directions, with missing values last', async () => {
    const page = await scene.visit('/activities?search=copy')
    const first = () => page.locator('.activities tbody a').first().textContent()
    await page.getByRole('button', { name: 'XSS' }).click()
    await expect.poll(first).toBe(`Copy ${COPIES}`)
    await page.getByRole('button', { name: 'XSS' }).click()
    await expect.poll(first).toBe('Copy 1')
    expect(await page.getByRole('columnheader', { name: 'XSS' }).getAttribute('aria-sort')).toBe('ascending')
    await page.goto(`${scene.url}/activities?search=copy&sort=power&order=asc`)
    await page.locator('.activities tbody a').first().waitFor()
    await page.keyboard.press('End')
    const power = page.locator('.activities tbody tr:not(.spacer)').last().locator('.power')
    await expect.poll(() => power.textContent()).toBe('–')
  })

  it('shows a year by day, and lists a day’s activities by keyboard', async () => {
    const page = await scene.visit('/activities?year=2024')
    const day = page.getByRole('button', { name: /^30 Dec 2024: 3 activities, .* XSS$/ })
    await day.focus()
    await page.keyboard.press('ArrowUp')
    expect(await page.evaluate('document.activeElement.ariaLabel')).toMatch(/^29 Dec 2024: 3 activities/)
    await page.keyboard.press('Enter')
    await expect.poll(() => sums(page).textContent()).toContain('3 activities')
    expect(new URL(page.url()).searchParams.get('day')).toBe('2024-12-29')
    await page.getByText('As a table').click()
    expect(await page.getByRole('row', { name: /^Dec/ }).textContent()).toMatch(/^Dec\d+/)
  })
})
