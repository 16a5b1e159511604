import { describe, expect, it } from 'vitest'
import { fitForms } from '../../../../src/core/mirror/rebuild-activities.ts'
import { makeRandom } from '../../../../src/sandbox/athlete/random.ts'
import { openScene, type Row, type Scene } from './scene.ts'

const DAY_MS = 86_400_000
type Parts = readonly [low: number, high: number, peak: number]
type Loads = { tl: Parts; rl: Parts }
type Ride = { at: number; score: Parts }
type Step = Ride & { before: Loads; after: Loads }

/** The constants of a rider, which the mirror does not know. */
const TAU: Loads = { tl: [38, 17, 11], rl: [8, 9.5, 5.5] }
const GAIN: Loads = { tl: [0.026, 0.057, 0.087], rl: [0.13, 0.11, 0.18] }

const each = (value: (part: 0 | 1 | 2) => number): Parts => [value(0), value(1), value(2)]
const total = ([low, high, peak]: Parts) => low + high + peak

function rest({ tl, rl }: Loads, ms: number): Loads {
  const left = (load: Parts, tau: Parts) => each((k) => load[k] * Math.exp(-ms / DAY_MS / tau[k]))
  const [training, recovery] = [left(tl, TAU.tl), left(rl, TAU.rl)]
  return { tl: training, rl: each((k) => Math.max(recovery[k], training[k] * Math.exp(-1 / TAU.rl[k]))) }
}

/** Simulates rides by the rule, with the loads before and after each. */
function simulate(rides: readonly Ride[], begin: Loads = { tl: [40, 2, 0.3], rl: [40, 2, 0.3] }): Step[] {
  let [loads, last] = [begin, rides[0]?.at ?? 0]
  return rides.map(({ at, score }) => {
    const before = rest(loads, at - last)
    const add = (load: Parts, gain: Parts) => each((k) => load[k] + gain[k] * score[k])
    const after = { tl: add(before.tl, GAIN.tl), rl: add(before.rl, GAIN.rl) }
    loads = after
    last = at
    return { at, score, before, after }
  })
}

/** Makes rides up to an hour ago, on every second or third day, some twice a day. */
function makeRides(count: number, seed = 1): Ride[] {
  const random = makeRandom(seed, 'form')
  const rides: Ride[] = []
  let at = Math.floor(Date.now() / 1_000) * 1_000 - 3_600_000
  for (; rides.length < count; at -= Math.round(DAY_MS * (random() < 0.2 ? 0.3 : 0.6 + 4 * random() ** 2)))
    rides.unshift({ at, score: [30 + 90 * random(), 9 * random(), 1.2 * random()] })
  return rides
}

const AFTER = (step: Step) => step.after

/** Writes rides with the loads that the service sends for each, and fits the constants of all accounts. */
async function tell(
  scene: Scene,
  accountId: number,
  steps: readonly Step[],
  { of = AFTER, zone = 'UTC' }: { of?: (step: Step, index: number) => Loads; zone?: string } = {},
) {
  const rows = steps.map((step, index) => {
    const { tl, rl } = of(step, index)
    return {
      at: new Date(step.at),
      path: `${accountId}-${index}`,
      ...{ tl, rl },
      score: step.score,
      form: total(tl) - total(rl),
    }
  })
  await scene.query(
    `insert into training.activities (account_id, path, activity_type, started_at, timezone, started_at_local, detail_state, listed_at,
       wanted_at, tl_ftp, tl_hie, tl_pp, rl_ftp, rl_hie, rl_pp, xlss, xhss, xpss, xss, form)
     select $1, path, 'Cycling', at, $3, at at time zone $3, 'mirrored', now(), now(), tl[1], tl[2], tl[3], rl[1], rl[2], rl[3],
       score[1], score[2], score[3], score[1] + score[2] + score[3], form
     from jsonb_to_recordset($2) as r (at timestamptz, path text, tl float8[], rl float8[], score float8[], form float8)`,
    [accountId, JSON.stringify(rows), zone],
  )
  await fitForms(scene)
}

const CONSTANTS = `select load, system, tau_days, gain, residual, activities_used, activities_known, convention, form_is_difference, reason
  from training.form_constants where account_id = $1 order by load desc, array_position('{low,high,peak}', system)`

/** Returns the rows whose constants differ by more than 1 % from the true ones. */
function wrong(rows: readonly Row[]): unknown[] {
  const [tau, gain] = [TAU, GAIN].map(({ tl, rl }) => [...tl, ...rl])
  const far = (is: unknown, wanted = 0) => !(Math.abs(Number(is) / wanted - 1) < 0.01)
  return rows.filter((row, k) => far(row.tau_days, tau?.[k]) || far(row.gain, gain?.[k]))
}

describe('the constants of the form are found within 1 %:', () => {
  it.each<[string, number, (step: Step, index: number, noise: () => number) => Loads, Row]>([
    [
      'from loads after each ride of ten years',
      1_500,
      AFTER,
      { convention: 'after', activities_known: 1_000 },
    ],
    [
      'from loads before each ride',
      300,
      ({ before }) => before,
      { convention: 'before', activities_used: 299 },
    ],
    [
      'despite noise',
      900,
      ({ after: { tl, rl } }, _, noise) => ({
        tl: each((k) => tl[k] + tl[k] * noise()),
        rl: each((k) => rl[k] + rl[k] * noise()),
      }),
      { convention: 'after', reason: null },
    ],
    [
      'despite rides that the service has locked',
      300,
      ({ after, before }, index) =>
        index % 15 === 7 ? { tl: each((k) => before.tl[k] * 1.1), rl: before.rl } : after,
      { convention: 'after', activities_used: 259 },
    ],
  ])('%s', async (_, count, of, expected) => {
    const scene = await openScene()
    const accountId = await scene.account()
    const random = makeRandom(7, 'noise')
    await tell(scene, accountId, simulate(makeRides(count)), {
      of: (step, index) => of(step, index, () => 0.0003 * (random() - 0.5)),
    })
    const rows = await scene.query(CONSTANTS, [accountId])
    expect(rows[0]).toMatchObject(expected)
    expect(wrong(rows)).toEqual([])
    expect(rows.filter(({ residual }) => !(Number(residual) <= 0.01))).toEqual([])
  })
})

it('each account has its own form constants, even around recalculated rides', async () => {
  const scene = await openScene()
  const [one, other, idle] = [
    await scene.account('one'),
    await scene.account('other'),
    await scene.account('idle'),
  ]
  const rides = makeRides(120)
  const steps = simulate(rides)
  // Two days without rides follow the stretch, at whatever hour of the day this runs.
  const end = rides.findIndex(
    ({ at }, index) => index >= 60 && at - (rides[index - 1]?.at ?? at) > 2 * DAY_MS,
  )
  const stretch = rides.slice(40, end).map(({ at, score }) => ({ at, score: each((k) => score[k] * 1.07) }))
  await tell(scene, one, [...steps.slice(0, 40), ...simulate(stretch, steps[39]?.after), ...steps.slice(end)])
  await tell(
    scene,
    other,
    simulate(
      makeRides(60, 2).map(({ at, score }) => ({ at, score: [score[0], 0, 0] })),
      { tl: [9, 0, 0], rl: [9, 0, 0] },
    ),
  )
  const rows = await scene.query(CONSTANTS, [one])
  expect(wrong(rows)).toEqual([])
  const others = await scene.query(CONSTANTS, [other])
  const zero = 'this load has always been 0'
  expect(others.map(({ reason }) => reason)).toEqual([null, zero, zero, null, zero, zero])
  expect(wrong([others[0] ?? {}])).toEqual([])
  expect(await scene.query(CONSTANTS, [idle])).toEqual([])
  const reasons = `select account, reason, count(*)::int as days, count(form)::int as known from training.form_by_day group by 1, 2 order by 1, 2`
  expect(await scene.query(reasons)).toMatchObject([
    { account: 'one', reason: 'the next activity does not follow from the last', known: 0 },
    { account: 'one', reason: null },
    { account: 'other', reason: null },
  ])
  const fitted = () => scene.query('select account_id, fitted_at from training.form_constants order by 1, 2')
  const before = await fitted()
  await scene.sql`update training.activities set name = 'Renamed'`
  await fitForms(scene)
  expect(await fitted()).toEqual(before)
  await scene.sql`update training.activities set xlss = xlss + 1 where account_id = ${other}`
  await fitForms(scene)
  expect(
    (await fitted()).filter((row, index) => row.fitted_at !== before[index]?.fitted_at).length,
  ).toBeGreaterThanOrEqual(6)
})

describe('the form of every day', () => {
  const at = (text: string) => Date.parse(text)
  const score: Parts = [60, 5, 0.6]
  /** Makes 14 rides, from which the constants can be fitted, and some more. */
  const withSome = (...more: string[]) =>
    [
      ...Array.from(
        { length: 14 },
        (_, day) => at(`2024-0${day < 7 ? 1 : 2}-${10 + day}T15:00:00Z`) + day * 3e6,
      ),
      ...more.map(at),
    ]
      .sort((a, b) => a - b)
      .map((start, index) => ({ at: start, score: each((k) => score[k] * (1 + (index % 5) / 4)) }))

  it.each<[string, string, string[], Record<string, string>]>([
    [
      'is taken at the end of the local day, even if clocks go forward',
      'Europe/Berlin',
      ['2024-03-30T10:00:00Z'],
      { '2024-03-31': '2024-03-31T22:00:00Z' },
    ],
    [
      'is taken at the end of the local day, even if clocks go back',
      'America/Toronto',
      ['2024-11-02T10:00:00Z'],
      { '2024-11-03': '2024-11-04T05:00:00Z' },
    ],
    [
      'includes both rides of a day, and a ride over midnight on its first day',
      'UTC',
      ['2024-03-30T08:00:00Z', '2024-03-30T23:30:00Z', '2024-04-01T01:00:00Z'],
      { '2024-03-30': '2024-03-31T00:00:00Z', '2024-03-31': '2024-04-01T00:00:00Z' },
    ],
  ])('%s', async (_, zone, more, wanted) => {
    const scene = await openScene()
    const steps = simulate(withSome(...more))
    await tell(scene, await scene.account(), steps, { zone })
    const days = await scene.query(
      `select *, day - lag(day) over (order by day) as after from training.form_by_day order by day`,
    )
    expect(days.every(({ after }, index) => index === 0 || after === 1)).toBe(true)
    expect(
      await scene.sql`select max(f.day) - min(t.day) as left_out from training.form_by_day f, training.today t`,
    ).toEqual([{ left_out: 0 }])
    for (const row of days) {
      const step = steps.findLast((one) => one.at <= Number(row.at))
      const { tl, rl } = rest(
        step?.after ?? { tl: [0, 0, 0], rl: [0, 0, 0] },
        Number(row.at) - (step?.at ?? 0),
      )
      expect(row.reason, String(row.day)).toBeNull()
      expect(Number(row.tl_total)).toBeCloseTo(total(tl), 3)
      expect(Number(row.form)).toBeCloseTo(total(tl) - total(rl), 3)
    }
    for (const [day, end] of Object.entries(wanted))
      expect(days.find((row) => row.day === day)?.at).toEqual(new Date(end))
  })

  it('is null with a reason if the rule does not hold or a load is not known yet', async () => {
    const scene = await openScene()
    const odd = await scene.account('odd')
    const random = makeRandom(3, 'odd')
    await tell(scene, odd, simulate(makeRides(40)), {
      of: () => ({ tl: each(() => 50 * random()), rl: each(() => 50 * random()) }),
    })
    const fresh = await scene.account('fresh')
    await tell(scene, fresh, simulate(makeRides(40)))
    await scene.ride(fresh, new Date().toISOString())
    await scene.sql`update training.activities set detail_state = 'awaiting_samples' where account_id = ${fresh} and xss is null`
    const other = await scene.account('other')
    await tell(scene, other, simulate(makeRides(40)))
    await scene.sql`update training.activities set form = form * 2 + 1 where account_id = ${other}`
    await tell(scene, await scene.account('few'), simulate(makeRides(3)))
    await scene.ride(await scene.account('new'), '2024-01-01T10:00:00Z', { tl_ftp: 1 })
    const today =
      await scene.sql`select account, tl_total is null as no_load, form, reason from training.form_today order by 1`
    expect(today.map(Object.values)).toEqual([
      ['few', true, null, 'fewer than eleven activities have loads'],
      ['fresh', true, null, 'the last activity has no loads yet'],
      ['new', true, null, 'not fitted yet'],
      ['odd', true, null, 'the loads follow no rule'],
      ['other', false, null, 'the told form is not the difference of the loads'],
    ])
    expect(
      await scene.sql`select count(form)::int as known from training.form_by_day where account = 'odd'`,
    ).toEqual([{ known: 0 }])
  })
})

it('form_on predicts the form after a plan and after rest', async () => {
  const scene = await openScene()
  const steps = simulate(makeRides(60))
  await tell(scene, await scene.account(), steps)
  const [today] = await scene.sql`select day::text, day + 3 as third, now() as now from training.today`
  const plan = [1, 1, 2, 9].map((after) => ({ day: after, low: 80, high: 6 }))
  const rows = await scene.query(
    `select f.* from training.today t, jsonb_to_recordset($1) p (plan jsonb),
       training.form_on(t.day + 3, (select coalesce(jsonb_agg(jsonb_build_object('day', t.day + (e ->> 'day')::int, 'low', e -> 'low', 'high', e -> 'high')), '[]')
         from jsonb_array_elements(p.plan) e)) f order by f.tl_total desc`,
    [JSON.stringify([{ plan }, { plan: [] }])],
  )
  const noon = at0(today?.day) + DAY_MS * 1.5
  const rides = [noon, noon, noon + DAY_MS].map((at): Ride => ({ at, score: [80, 6, 0] }))
  for (const [index, planned] of [rides, []].entries()) {
    const last = simulate([...steps, ...planned]).at(-1)
    const { tl, rl } = rest(last?.after ?? TAU, Number(rows[index]?.at) - (last?.at ?? 0))
    expect(rows[index]?.at).toEqual(new Date(at0(today?.third) + DAY_MS))
    expect(Number(rows[index]?.tl_total)).toBeCloseTo(total(tl), 3)
    expect(Number(rows[index]?.form)).toBeCloseTo(total(tl) - total(rl), 3)
  }
  expect(await scene.sql`select form, reason from training.form_on('2024-01-01')`).toEqual([
    { form: null, reason: 'the day is over' },
  ])
  for (const score of ['NaN', 'Infinity', '-Infinity']) {
    const plan = JSON.stringify([{ day: today?.third, low: score }])
    expect(
      await scene.query('select tl_total, form, reason from training.form_on($1, $2)', [today?.third, plan]),
    ).toEqual([{ tl_total: null, form: null, reason: 'a score of the plan is no number' }])
  }
})

const at0 = (day: unknown) => Date.parse(`${day}T00:00:00Z`)

it('the constants are fitted although years without an activity leave a trace of the loads', async () => {
  const scene = await openScene()
  const account = await scene.account()
  const rides = makeRides(60)
  const first = rides[0]?.at ?? 0
  const old = [3, 2, 1].map((n): Ride => ({ at: first - n * 30 * 365 * DAY_MS, score: [50, 0, 0] }))
  const steps = simulate([...old, ...rides])
  expect(steps[1]?.before.tl[1]).toSatisfy((load: number) => load > 0 && load ** 2 === 0)
  await tell(scene, account, steps, { of: ({ before }) => before })
  expect(wrong(await scene.query(CONSTANTS, [account]))).toEqual([])
  expect(await scene.view('form_by_day')).not.toEqual([])
})
