import fc from 'fast-check'
import { expect, it } from 'vitest'
import { normalizeIntensity } from '../../../../src/core/normalize/by-second.ts'
import { normalizeMeasures } from '../../../../src/core/normalize/measures.ts'
import { replaceDerived } from '../../../../src/core/store/samples/content.ts'
import { findStoredSamples } from '../../../../src/core/store/samples/stored-samples.ts'
import { makeSamplesOf, type Second, UNKNOWN } from '../../../kit/samples.ts'
import { whole } from '../../../kit/sampling.ts'
import { replaceSamples } from '../detail.ts'
import { openScene, type Row, type Scene } from './scene.ts'

/** The measures of one activity, computed in SQL from its samples; `$1` is the activity. */
const MEASURED = `
  WITH stepped AS (
    SELECT t, ordinal, date_trunc('second', t) AS second, hr, cad, alt, dist,
      CASE WHEN bool_or(p_raw IS NOT NULL) OVER () THEN p_raw ELSE power END AS power,
      extract(epoch FROM lead(date_trunc('second', t)) OVER w - date_trunc('second', t))::int AS step
    FROM training.samples WHERE activity_id = $1 WINDOW w AS (ORDER BY t, ordinal)
  ), recording AS (
    SELECT coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY step) FILTER (WHERE step > 0), 1) AS spacing FROM stepped
  ), lasting AS (
    SELECT *, CASE WHEN step < 2 * usual THEN step ELSE usual END AS held
    FROM stepped, (SELECT CASE WHEN spacing <= 300 THEN spacing ELSE 1 END AS usual FROM recording) r
  ), sample AS (
    SELECT *, (next_way(dist, next, held, goes_on) OVER (ORDER BY at))[3] AS metres
    FROM (SELECT *, lead(at) OVER w - at = held AS goes_on, lead(dist) OVER w AS next FROM (
      SELECT t, extract(epoch FROM second - min(second) OVER ())::int AS at, held, power::float8 AS power, cad::float8 AS cad,
        alt::float8 AS alt, dist::float8 AS dist, CASE WHEN hr >= 1 AND hr < 251 THEN hr::float8 END AS hr
      FROM lasting WHERE held > 0
    ) s WINDOW w AS (ORDER BY at)) s
  ), grid AS (
    SELECT n, power, hr, speed FROM generate_series(0, (SELECT max(at + held) - 1 FROM sample)) AS n
    LEFT JOIN (
      SELECT generate_series(at, at + held - 1) AS n, power, hr,
        CASE WHEN goes_on AND metres IS NOT NULL THEN metres / held END AS speed
      FROM sample
    ) s USING (n)
  ), summed AS (
    SELECT n, power, sum(coalesce(power, 0)) OVER w AS joules, sum(coalesce(hr, 0)) OVER w AS beats,
      sum(coalesce(speed, 0)) OVER w AS metres
    FROM grid WINDOW w AS (ORDER BY n)
  ), quantity AS MATERIALIZED (
    SELECT * FROM (VALUES ('hr', 0, -1), ('speed', 0, -1)) AS whole (quantity, work, after)
    UNION ALL
    SELECT 'power', work, (SELECT min(n) FROM summed WHERE joules >= work * 1000) FROM unnest('{1000,2000,3000}'::int[]) AS work
  ), best AS (
    SELECT minutes, quantity, work, max(sum) / minutes / 60 AS mean
    FROM (VALUES (1), (5), (20), (60)) AS d (minutes)
    CROSS JOIN quantity
    CROSS JOIN LATERAL (
      SELECT s.n - 60 * minutes + 1 AS begins, CASE quantity WHEN 'hr' THEN s.beats - coalesce(b.beats, 0)
        WHEN 'speed' THEN s.metres - coalesce(b.metres, 0) ELSE s.joules - coalesce(b.joules, 0) END AS sum
      FROM summed s LEFT JOIN summed b ON b.n = s.n - 60 * minutes WHERE s.n >= 60 * minutes - 1
    ) windows
    WHERE begins > after
    GROUP BY 1, 2, 3
  ), thirty AS (
    SELECT ((s.joules - coalesce(b.joules, 0)) / 30) ^ 4 AS fourth
    FROM summed s LEFT JOIN summed b ON b.n = s.n - 30 WHERE s.n >= 29 AND s.power IS NOT NULL
  ), pedalled AS (
    SELECT power, hr, held, 2 * coalesce(sum(held) OVER (ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
      < sum(held) OVER () AS first
    FROM sample WHERE power > 0 AND hr IS NOT NULL
  ), beating AS (
    SELECT hr, held, 2 * coalesce(sum(held) OVER (ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
      < sum(held) OVER () AS first
    FROM sample WHERE hr IS NOT NULL
  ), halves AS (
    SELECT sum(power * held) FILTER (WHERE first) / sum(hr * held) FILTER (WHERE first) AS first,
      sum(power * held) FILTER (WHERE NOT first) / sum(hr * held) FILTER (WHERE NOT first) AS second
    FROM pedalled
  ), counted AS (
    SELECT at, counted_height(mean) OVER (ORDER BY at) AS counted FROM (
      SELECT at, floor(100 * avg(alt) OVER (ORDER BY at RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) + 0.5) / 100 AS mean
      FROM sample WHERE alt IS NOT NULL
    ) smooth
  ), height AS (
    SELECT counted - coalesce(lag(counted) OVER (ORDER BY at), counted) AS change FROM counted
  ), way AS (
    SELECT at, alt, dist, extremes(at, alt - 0.03::float8 * dist) OVER (ORDER BY at) AS extremes
    FROM sample WHERE alt IS NOT NULL AND dist IS NOT NULL
  ), leg AS (
    SELECT extremes[1] AS from_s, max(extremes[3]) AS to_s FROM way GROUP BY 1
  ), climb AS (
    SELECT low.at AS from_s, high.at - low.at AS s, high.alt - low.alt AS gain, high.dist - low.dist AS length
    FROM leg JOIN way low ON low.at = from_s JOIN way high ON high.at = to_s
  ), real_climb AS (
    SELECT *, gain / length * 100 AS grade FROM climb WHERE gain >= 30 AND length >= 300
  ), longest AS (
    SELECT * FROM real_climb ORDER BY length DESC, from_s LIMIT 1
  ), steepest AS (
    SELECT * FROM real_climb ORDER BY grade DESC, from_s LIMIT 1
  ), moving AS (
    SELECT held, CASE WHEN (SELECT count(cad) FROM sample) > 0 THEN cad = 0 OR cad < 0 ELSE power <= 0 END AS coasting
    FROM sample WHERE goes_on AND metres > 0.5 * held
  ), cadence AS (
    SELECT floor(cad / 5)::int AS step, sum(held)::int AS seconds, coalesce(sum(power * held), 0) / 1000 AS kj
    FROM sample WHERE cad > 0 AND cad < 250 GROUP BY 1
  ), steps AS (
    SELECT array_agg(coalesce(seconds, 0) ORDER BY step) AS seconds, array_agg(coalesce(kj, 0) ORDER BY step) AS kj
    FROM generate_series(0, (SELECT max(step) FROM cadence)) AS step LEFT JOIN cadence USING (step)
  ), mean AS (
    SELECT sum(power * held) / sum(held) FILTER (WHERE power IS NOT NULL) AS power,
      sum(hr * held) / sum(held) FILTER (WHERE hr IS NOT NULL) AS hr, sum(power * held) / 1000 AS kj,
      (SELECT avg(fourth) ^ 0.25 FROM thirty) AS weighted
    FROM sample
  )
  SELECT
    (SELECT CASE WHEN count(dist) > 0 THEN (SELECT coalesce(sum(held), 0)::int FROM moving) END FROM sample) AS moving_s,
    (SELECT sum(held) FILTER (WHERE coasting IS NOT NULL) - coalesce(sum(held) FILTER (WHERE NOT coasting), 0) FROM moving)::int AS coasting_s,
    (SELECT 100.0 * coalesce(sum(held) FILTER (WHERE coasting), 0) / sum(held) FILTER (WHERE coasting IS NOT NULL) FROM moving)::float8
      AS coasting_pct,
    kj AS work_kj, mean.power AS mean_power, weighted AS weighted_power,
    CASE WHEN mean.power > 0 THEN weighted / mean.power END AS variability,
    weighted / (SELECT CASE WHEN sig_ftp > 0 THEN sig_ftp END FROM training.activities WHERE activity_id = $1) AS intensity,
    mean.hr AS mean_hr, weighted / mean.hr AS efficiency,
    (SELECT 100 * (1 - second / first) FROM halves) AS decoupling_pct,
    (SELECT 100 * ((sum(hr * held) FILTER (WHERE NOT first) / sum(held) FILTER (WHERE NOT first))
       / (sum(hr * held) FILTER (WHERE first) / sum(held) FILTER (WHERE first)) - 1) FROM beating) AS hr_drift_pct,
    (SELECT sum(greatest(change, 0)) FROM height) AS ascent_m, (SELECT sum(greatest(0 - change, 0)) FROM height) AS descent_m,
    (SELECT from_s FROM longest) AS longest_climb_from_s, (SELECT s FROM longest) AS longest_climb_s,
    (SELECT gain FROM longest) AS longest_climb_gain_m, (SELECT length FROM longest) AS longest_climb_length_m,
    (SELECT grade FROM longest) AS longest_climb_grade_pct, (SELECT gain / s * 3600 FROM longest) AS longest_climb_vam,
    (SELECT from_s FROM steepest) AS steepest_climb_from_s, (SELECT s FROM steepest) AS steepest_climb_s,
    (SELECT gain FROM steepest) AS steepest_climb_gain_m, (SELECT length FROM steepest) AS steepest_climb_length_m,
    (SELECT grade FROM steepest) AS steepest_climb_grade_pct, (SELECT gain / s * 3600 FROM steepest) AS steepest_climb_vam,
    ${[1, 5, 20, 60]
      .map(
        (minutes) => `
    (SELECT mean FROM best WHERE quantity = 'hr' AND minutes = ${minutes} AND mean.hr IS NOT NULL) AS best_hr_${minutes}_min,
    (SELECT mean * 3.6 FROM best WHERE quantity = 'speed' AND minutes = ${minutes} AND (SELECT count(speed) FROM grid) > 0)
      AS best_speed_${minutes}_min,`,
      )
      .join('')}
    ${[1_000, 2_000, 3_000]
      .flatMap((work) =>
        [1, 5, 20].map(
          (minutes) => `
    (SELECT mean FROM best WHERE quantity = 'power' AND minutes = ${minutes} AND work = ${work}) AS best_${minutes}_min_after_${work}_kj,`,
        ),
      )
      .join('')}
    (SELECT seconds FROM steps) AS cadence_s, (SELECT CASE WHEN mean.power IS NOT NULL THEN kj END FROM steps) AS cadence_work_kj
  FROM mean WHERE (SELECT count(*) FROM sample) > 0`

/**
 * `counted_height`: the last height that counted, up to a sample. `next_way`: the highest distance, for how many seconds the distance was
 * off, and the distance from a sample to the next. `extremes`: time and value of the low point before a sample, and of the highest point
 * since.
 */
const AGGREGATES = [
  `CREATE FUNCTION next_height(counted float8, height float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS
     'SELECT CASE WHEN abs(height - counted) < 2 THEN counted ELSE height END'`,
  'CREATE AGGREGATE counted_height(float8) (sfunc = next_height, stype = float8)',
  `CREATE FUNCTION step_way(before float8[], dist float8, next float8, held int, goes_on bool) RETURNS float8[] LANGUAGE sql IMMUTABLE AS
     'SELECT CASE WHEN dist IS NULL OR next IS NULL OR goes_on IS NOT TRUE THEN ARRAY[NULL, 0, NULL]
        WHEN next >= from_m AND next - from_m <= 50 * held THEN ARRAY[next, 0, CASE WHEN before[2] = 0 THEN next - from_m ELSE 0 END]
        WHEN before[2] + held > 10 THEN ARRAY[next, 0, 0] ELSE ARRAY[from_m, before[2] + held, 0] END
      FROM (SELECT coalesce(before[1], dist) AS from_m) f'`,
  `CREATE AGGREGATE next_way(float8, float8, int, bool) (sfunc = step_way, stype = float8[], initcond = '{NULL,0,NULL}')`,
  `CREATE FUNCTION next_extremes(before float8[], at int, value float8) RETURNS float8[] LANGUAGE sql IMMUTABLE AS
     'SELECT CASE WHEN before IS NULL OR value <= before[2] OR value <= before[4] - 10 THEN ARRAY[at, value, at, value]
        WHEN value > before[4] THEN ARRAY[before[1], before[2], at, value] ELSE before END'`,
  'CREATE AGGREGATE extremes(int, float8) (sfunc = next_extremes, stype = float8[])',
]

const unknownOr = (value: fc.Arbitrary<number>) =>
  fc.oneof({ weight: 1, arbitrary: fc.constant(UNKNOWN) }, { weight: 4, arbitrary: value })

/** A stretch of samples whose values follow a rule, so that thousands of samples shrink to a few numbers. */
const stretch = fc.record({
  count: fc.oneof(
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 400, max: 1_500 }),
  ),
  gap: fc.constantFrom(0, 0.25, 0.5, 1, 1, 2, 7, 90, 400),
  power: unknownOr(fc.constantFrom(0, -3, 90.1, 251.000000001, 700, 1_400)),
  hr: unknownOr(fc.constantFrom(0, 0.9, 60, 121.7, 180, 250.999, 255)),
  cad: unknownOr(fc.constantFrom(0, 4.999999999, 60, 88.5, 121, 250, 400)),
  alt: unknownOr(fc.constantFrom(0, 100.3, 1_800)),
  slope: fc.constantFrom(0, 0.03, 0.05, 0.11, -0.04),
  speed: unknownOr(fc.constantFrom(0, 0.4, 0.5, 5, 12.3, -2)),
  /** one in this many values is unknown; 0: none */
  unknownEach: fc.constantFrom(0, 0, 3, 17),
})
type Stretch = typeof stretch extends fc.Arbitrary<infer T> ? T : never

function makeRide({ every, withRaw, stretches }: Omit<Ride, 'ftp'>): Second[] {
  let at = 0
  let [alt, dist] = [0, 0]
  return stretches.flatMap((part: Stretch, number) =>
    Array.from({ length: part.count }, (_, index) => {
      at += index === 0 ? part.gap * every : every
      const isUnknown = part.unknownEach > 0 && (index + number) % part.unknownEach === 0
      const metres = part.speed * every
      if (Number.isFinite(metres)) dist += metres
      if (index === 0 && Number.isFinite(part.alt)) alt = part.alt
      if (Number.isFinite(metres)) alt += metres * part.slope + ((index * 7) % 5) * 0.3 - 0.6
      const of = (value: number) => (isUnknown ? UNKNOWN : value)
      return {
        at,
        power: of(part.power + ((index * 13) % 29)),
        ...(withRaw && { raw: of(part.power + ((index * 31) % 101)) }),
        hr: of(part.hr + (part.hr > 1 ? (index % 11) / 3 : 0)),
        cad: of(part.cad === 0 ? 0 : part.cad + (index % 3)),
        alt: of(Number.isNaN(part.alt) ? UNKNOWN : alt),
        dist: of(Number.isNaN(part.speed) ? UNKNOWN : dist),
      }
    }),
  )
}

const ride = fc.record({
  ftp: fc.option(fc.constantFrom(0, 200, 251.3)),
  withRaw: fc.boolean(),
  every: fc.constantFrom(1, 1, 1, 4, 5),
  stretches: fc.array(stretch, { maxLength: 4 }),
})
type Ride = typeof ride extends fc.Arbitrary<infer T> ? T : never

const HARD: Stretch = {
  ...{ count: 800, gap: 0, power: 700, hr: 121.7, cad: 88.5 },
  ...{ alt: 100.3, slope: 0.05, speed: 5, unknownEach: 17 },
}
/** A ride that is long and hard enough for every measure. */
const EVERYTHING: Ride = {
  ...{ ftp: 251.3, withRaw: true, every: 4 },
  stretches: [
    HARD,
    {
      ...HARD,
      ...{ count: 500, gap: 90, hr: 180, cad: 60, alt: UNKNOWN, slope: -0.04, speed: 12.3, unknownEach: 0 },
    },
    { ...HARD, ...{ count: 600, gap: 7, hr: 180, cad: 0, slope: 0.11, unknownEach: 3 } },
  ],
}
/** A ride with halves of equal length. */
const EVEN: Ride = { ...EVERYTHING, every: 1, stretches: [{ ...HARD, count: 40, unknownEach: 0 }] }

async function writeRide(scene: Scene, accountId: number, { ftp, ...made }: Ride) {
  const samples = makeSamplesOf(makeRide(made))
  const activityId = await scene.ride(accountId, '2024-05-01T06:00:00Z', {
    sig_ftp: ftp,
    sample_count: samples.count,
  })
  const measures = normalizeMeasures(samples, ftp)
  const intensity = normalizeIntensity(samples, ftp)
  const stored = await scene.store.transaction(async (tx) => {
    await replaceSamples(tx, activityId, samples)
    await replaceDerived(tx, [{ activityId, measures, intensity }], [])
    return await findStoredSamples(tx, activityId)
  })
  return { activityId, measures, again: normalizeMeasures(stored, ftp) }
}

/** Compares up to the sixth decimal, because sums in another order differ in their last digits. */
function expectEqual(measured: Row | undefined, expected: Row | undefined): void {
  const near = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(near)
    return typeof value === 'number' && !Number.isInteger(value) ? expect.closeTo(value, 6) : value
  }
  const entries = Object.entries(expected ?? {}).map(([name, value]) => [name, near(value)])
  expect(measured).toEqual(expected && Object.fromEntries(entries))
}

it('each measure equals its computation in SQL, for any samples', async () => {
  const scene = await openScene()
  for (const statement of AGGREGATES) await scene.query(statement)
  const accountId = await scene.account()
  const seen: Row = {}
  await fc.assert(
    fc.asyncProperty(ride, async (made) => {
      const { activityId, measures, again } = await writeRide(scene, accountId, made)
      const [row] = await scene.query(
        `select to_jsonb(m) - '{activity_id,account_id,route_id}'::text[] as measures from training.ride_measures m where activity_id = $1`,
        [activityId],
      )
      const [computed] = await scene.query(MEASURED, [activityId])
      expectEqual(row?.measures as Row | undefined, computed)
      // The stored samples give the same measures as the sent ones, to the last digit.
      expect(again).toEqual(measures)
      for (const [name, value] of Object.entries(computed ?? {})) if (value !== null) seen[name] = value
    }),
    { numRuns: whole ? 60 : 12, examples: [[EVERYTHING], [EVEN]] },
  )
  const columns =
    await scene.sql`select column_name from information_schema.columns where table_name = 'ride_measures' and
    column_name not in ('activity_id', 'account_id', 'route_id')`
  expect(Object.keys(seen).sort()).toEqual(columns.map((row) => String(row.column_name)).sort())
})

it('TRIMP is the sum over the samples, and null without the heart rates', async () => {
  const scene = await openScene()
  const accountId = await scene.account()
  const { activityId } = await writeRide(scene, accountId, {
    ...{ ftp: 200, withRaw: false, every: 5 },
    stretches: [71.4, 96.7, 131, 160.5, 200.9, UNKNOWN].map((hr) => ({
      ...{ count: 300, gap: 7, power: 200, hr, cad: 80, alt: 100.3, slope: 0, speed: 5, unknownEach: 3 },
    })),
  })
  const beats = await scene.sql`select floor(hr)::int as bpm, count(*)::float8 * 5 / 60 as minutes
    from training.samples where hr is not null group by 1`
  const sum = (rate: (bpm: number) => number) =>
    beats.reduce((all, { bpm, minutes }) => all + Number(minutes) * rate(Number(bpm)), 0)
  const edwards = (max: number) => sum((bpm) => Math.min(5, Math.max(0, Math.floor((bpm * 10) / max) - 4)))
  const banister = (factor: number, exponent: number) =>
    sum((bpm) => {
      const reserve = Math.min(1, Math.max(0, (bpm - 45) / (190 - 45)))
      return reserve * factor * Math.exp(exponent * reserve)
    })
  const overview = async () => (await scene.view('ride_overview', `where activity_id = ${activityId}`))[0]
  const unknown = { hr_rest: null, trimp_banister_men: null, trimp_banister_women: null }
  const before = { hr_max: 203, trimp_edwards: expect.closeTo(edwards(203)), ...unknown }
  expect(await overview()).toMatchObject(before)
  await scene.sql`update training.accounts set resting_hr = 45, max_hr = 190`
  expect(await overview()).toMatchObject({
    ...{ hr_max: 190, hr_rest: 45, trimp_edwards: expect.closeTo(edwards(190)) },
    trimp_banister_men: expect.closeTo(banister(0.64, 1.92)),
    trimp_banister_women: expect.closeTo(banister(0.86, 1.67)),
  })
  await scene.sql`delete from training.activity_intensity`
  expect(await scene.view('ride_overview')).toEqual([])
})
