import fc from 'fast-check'
import { expect, it } from 'vitest'
import { normalizeIntensity } from '../../../../src/core/normalize/by-second.ts'
import { replaceDerived } from '../../../../src/core/store/samples/content.ts'
import { makeSamplesOf, UNKNOWN } from '../../../kit/samples.ts'
import { whole } from '../../../kit/sampling.ts'
import { replaceSamples } from '../detail.ts'
import { openScene } from './scene.ts'

/** The rows of `activity_intensity`, counted from the samples in SQL. */
const COUNTED = `
  SELECT a.activity_id, a.ftp, power_z1_s::int, power_z2_s::int, power_z3_s::int, power_z4_s::int, power_z5_s::int,
    power_z6_s::int, power_z7_s::int, above_ftp_s::int, near_mpa_s::int, hr_peak, hr_at_least_s,
    a.account_id, a.started_at_local::date AS day, date_trunc('month', a.started_at_local)::date AS month, false AS absent,
    sample_spacing_s
  FROM (SELECT *, CASE WHEN sig_ftp > 0 THEN sig_ftp END AS ftp FROM training.activities) a
  CROSS JOIN LATERAL (
    WITH stepped AS (
      SELECT CASE WHEN bool_or(p_raw IS NOT NULL) OVER () THEN p_raw ELSE power END::float8 AS watts, mpa::float8 AS mpa, hr,
        extract(epoch FROM date_trunc('second', t))::bigint AS at,
        extract(epoch FROM lead(date_trunc('second', t)) OVER (ORDER BY t, ctid) - date_trunc('second', t))::int AS step
      FROM training.samples WHERE samples.activity_id = a.activity_id AND t IS NOT NULL
    ), recording AS (
      SELECT CASE WHEN median <= 300 THEN median ELSE 1 END AS spacing
      FROM (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY step) AS median FROM stepped WHERE step > 0) m
    ), sample AS (
      SELECT at, watts, mpa, hr, CASE WHEN step < 2 * spacing THEN step ELSE spacing END AS seconds FROM stepped, recording
    ), power AS (
      SELECT watts, CASE WHEN mpa > 0 AND mpa < 'Infinity' THEN mpa END AS mpa FROM sample, generate_series(1, seconds)
      WHERE watts > '-Infinity' AND watts < 'Infinity'
    ), beat AS (
      SELECT floor(hr)::int AS bpm, sum(seconds) AS seconds FROM sample
      WHERE seconds > 0 AND hr >= 1 AND hr < 251 GROUP BY 1
    ), hr AS (
      SELECT bpm, sum(coalesce(seconds, 0)) OVER (ORDER BY bpm DESC)::int AS at_least
      FROM generate_series(1, (SELECT max(bpm) FROM beat)) AS each(bpm) LEFT JOIN beat USING (bpm)
    ), ten AS (
      SELECT min(bpm) OVER w AS lowest, count(*) OVER w AS seconds FROM (
        SELECT at + n AS at, floor(hr)::int AS bpm FROM sample, generate_series(0, seconds - 1) AS n WHERE hr >= 1 AND hr < 251
      ) s WINDOW w AS (ORDER BY at RANGE BETWEEN CURRENT ROW AND 9 FOLLOWING)
    ), zone AS (
      SELECT count(*) FILTER (WHERE watts * 100 < a.ftp * 55) AS power_z1_s,
        count(*) FILTER (WHERE watts * 100 >= a.ftp * 55 AND watts * 100 < a.ftp * 75) AS power_z2_s,
        count(*) FILTER (WHERE watts * 100 >= a.ftp * 75 AND watts * 100 < a.ftp * 90) AS power_z3_s,
        count(*) FILTER (WHERE watts * 100 >= a.ftp * 90 AND watts * 100 < a.ftp * 105) AS power_z4_s,
        count(*) FILTER (WHERE watts * 100 >= a.ftp * 105 AND watts * 100 < a.ftp * 120) AS power_z5_s,
        count(*) FILTER (WHERE watts * 100 >= a.ftp * 120 AND watts * 100 <= a.ftp * 150) AS power_z6_s,
        count(*) FILTER (WHERE watts * 100 > a.ftp * 150) AS power_z7_s,
        count(*) FILTER (WHERE watts > a.ftp) AS above_ftp_s
      FROM power HAVING count(*) > 0 AND a.ftp IS NOT NULL
    )
    SELECT zone.*, (SELECT spacing FROM recording) AS sample_spacing_s,
      (SELECT count(*) FILTER (WHERE watts * 100 >= mpa * 90) FROM power HAVING count(mpa) > 0) AS near_mpa_s,
      (SELECT max(lowest) FROM ten WHERE seconds = 10) AS hr_peak,
      (SELECT array_agg(at_least ORDER BY bpm) FROM hr) AS hr_at_least_s
    FROM (SELECT) one LEFT JOIN zone ON true
  ) counted
  ORDER BY activity_id`

// Borders of the zones at a threshold power of 200 W, and values that equal a border only as float4.
const BORDERS = [110, 150, 180, 200, 210, 240, 300, 109.999999999, 300.000000001, 250.999999999]
const onBorder = fc.constantFrom(...BORDERS)
const value = (max: number) =>
  fc.oneof(
    fc.constant(UNKNOWN),
    fc.integer({ min: 0, max }),
    fc.double({ min: 0, max, noNaN: true }),
    onBorder,
  )
const second = fc.record({
  gap: fc.constantFrom(0, 0, 0.25, 0.5, 1, 1, 1, 1, 2, 3, 90, 400),
  power: value(600),
  raw: value(600),
  mpa: value(1_200),
  hr: fc.constantFrom(UNKNOWN, 0, 3, 5.7, 7, 250, 250.999999999, 251, 255),
})
// A heart rate that lasts ten seconds is a peak.
const held = fc
  .tuple(second, fc.constantFrom(1, 1, 1, 9, 10))
  .map(([first, times]) => [first, ...new Array<typeof first>(times - 1).fill({ ...first, gap: 1 })])
const rides = fc.array(
  fc.record({
    ftp: fc.option(fc.constantFrom(0, 200, 251.3, 333.333)),
    withRaw: fc.boolean(),
    every: fc.constantFrom(1, 1, 4, 5),
    seconds: fc.array(held, { minLength: 1, maxLength: 40 }).map((each) => each.flat()),
  }),
  { minLength: 1, maxLength: 12 },
)

it('the seconds counted at ingest equal a count in SQL, for any samples', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  await fc.assert(
    fc.asyncProperty(rides, async (made) => {
      const expected = []
      for (const { ftp, withRaw, every, seconds } of made) {
        let at = 0
        const timed = seconds.map(({ gap, raw, ...rest }) => {
          at += gap * every
          return { ...rest, at, ...(withRaw && { raw }) }
        })
        const samples = makeSamplesOf(timed)
        const activityId = await scene.ride(accountId, '2024-05-01T06:00:00Z', {
          sig_ftp: ftp,
          sample_count: samples.count,
        })
        const intensity = normalizeIntensity(samples, ftp)
        if (!intensity) throw new Error('a ride with samples has an intensity')
        await scene.store.transaction(async (tx) => {
          await replaceSamples(tx, activityId, samples)
          await replaceDerived(tx, [{ activityId, intensity }], [])
        })
        expected.push(activityId)
      }
      const atIngest = await scene.sql`select * from training.activity_intensity order by activity_id`
      expect(atIngest.map((row) => row.activity_id)).toEqual(expected)
      expect(atIngest).toEqual(await scene.query(COUNTED))
      await scene.sql`truncate training.activities, training.activity_intensity cascade`
      await scene.sql`truncate training.samples`
    }),
    { numRuns: whole ? 40 : 8 },
  )
})
