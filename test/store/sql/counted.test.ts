import { readdir, readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { normalizeIntensity } from '../../../src/normalize/intensity.ts'
import { upsertIntensities } from '../../../src/store/samples/write-samples.ts'
import { replaceSamples } from '../detail.ts'
import { openScene } from './scene.ts'
import { ride, UNKNOWN } from './seconds.ts'

describe('the counting of the migration', () => {
  /** The counting, and what was filled in when there came to be more columns. */
  let statements: string
  beforeAll(async () => {
    const files = await readdir('drizzle')
    const read = async (name: string) => {
      const file = files.find((each) => each.endsWith(`_${name}.sql`))
      return (await readFile(`drizzle/${file}`, 'utf8')).split('--> statement-breakpoint')
    }
    const counting = (await read('activity_intensity_counted')).at(-1) ?? ''
    expect(counting).toContain('INSERT INTO training.activity_intensity')
    const filling = (await read('account_first')).find((text) =>
      text.includes('UPDATE training.activity_intensity'),
    )
    expect(filling).toBeDefined()
    statements = `${counting};${filling}`
  })

  // Borders of the zones of 200 W, and what is such a border only as a float4.
  const onBorder = fc.constantFrom(
    110,
    150,
    180,
    200,
    210,
    240,
    300,
    109.999999999,
    300.000000001,
    250.999999999,
  )
  const value = (max: number) =>
    fc.oneof(
      fc.constant(UNKNOWN),
      fc.integer({ min: 0, max }),
      fc.double({ min: 0, max, noNaN: true }),
      onBorder,
    )
  const second = fc.record({
    gap: fc.constantFrom(0, 0, 0.25, 0.5, 1, 1, 1, 1, 90),
    power: value(600),
    raw: value(600),
    mpa: value(1_200),
    hr: value(260),
  })
  const rides = fc.array(
    fc.record({
      ftp: fc.option(fc.constantFrom(0, 200, 251.3, 333.333)),
      withRaw: fc.boolean(),
      seconds: fc.array(second, { minLength: 1, maxLength: 60 }),
    }),
    { minLength: 1, maxLength: 12 },
  )

  it('comes to the same as the counting at ingest, over rides with gaps, unknown values and shared seconds', async () => {
    const scene = await openScene()
    const accountId = await scene.account()
    await fc.assert(
      fc.asyncProperty(rides, async (made) => {
        const expected = []
        for (const { ftp, withRaw, seconds } of made) {
          let at = 0
          const timed = seconds.map(({ gap, raw, ...rest }) => {
            at += gap
            return { ...rest, at, ...(withRaw && { raw }) }
          })
          const samples = ride(timed)
          const activityId = await scene.ride(accountId, '2024-05-01T06:00:00Z', {
            sig_ftp: ftp,
            sample_count: samples.count,
          })
          const intensity = normalizeIntensity(samples, ftp)
          if (!intensity) throw new Error('a ride with samples has an intensity')
          await scene.store.transaction(async (tx) => {
            await replaceSamples(tx, activityId, samples)
            await upsertIntensities(tx, [{ activityId, intensity }])
          })
          expected.push(activityId)
        }
        const counted = () => scene.query('select * from training.activity_intensity order by activity_id')
        const atIngest = await counted()
        expect(atIngest.map((row) => row.activity_id)).toEqual(expected)
        await scene.query('truncate training.activity_intensity')
        await scene.store.execute(statements)
        expect(await counted()).toEqual(atIngest)
        await scene.query('truncate training.activities, training.activity_intensity cascade')
        await scene.query('truncate training.samples')
      }),
      { numRuns: 40 },
    )
  })

  it('makes no row for a ride without samples', async () => {
    const scene = await openScene()
    await scene.ride(await scene.account(), '2024-05-01T06:00:00Z', { sample_count: 0, sig_ftp: 250 })
    await scene.store.execute(statements)
    expect(await scene.query('select * from training.activity_intensity')).toEqual([])
  })
})
