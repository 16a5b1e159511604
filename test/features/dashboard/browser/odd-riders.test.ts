import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { syncAccount, syncTraining } from '../../../../src/program/app/sync-account.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { openScene, PHONE, type Scene } from './scene.ts'

const LONG = 'Zweihundertkilometerrundfahrt'.repeat(31)

describeWithBrowser('the pages of odd riders', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ activities: 3 })
    await syncAccount(scene.app, { name: 'default' })
    await syncTraining(scene.app, { account: scene.account })
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
  afterEach(() => expect(scene.takeComplaints()).toEqual([]))
  afterAll(() => scene.close())

  it('have no bar wider than its place', async () => {
    const id = await scene.activityId('activity_id = (select max(activity_id) from training.activities)')
    for (const options of [{ viewport: { width: 1_200, height: 900 } }, PHONE]) {
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

  it('keep other columns whole with a long name, and the choice of accounts apart from the cards', async () => {
    const page = await scene.visit('/')
    const lines = (await page.evaluate(
      `[...document.querySelector('section[aria-labelledby="activities-title"] tbody tr').querySelectorAll('td')].map((cell) => {
        const range = document.createRange()
        range.selectNodeContents(cell)
        return [cell.dataset.title, new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size]
      })`,
    )) as Array<[string, number]>
    for (const [title, count] of lines) expect(count, title).toBeLessThanOrEqual(title === 'Account' ? 3 : 2)
    expect(new Map(lines).get('Started')).toBe(1)
    const gap = (await page.evaluate(
      `document.querySelector('.day').getBoundingClientRect().top - document.querySelector('nav.choice').getBoundingClientRect().bottom`,
    )) as number
    expect(gap).toBeGreaterThanOrEqual(8)
  })

  it('show form and loads of one time, and name it', async () => {
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
