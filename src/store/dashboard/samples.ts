import type { Tx } from '../store.ts'

/** One array a quantity, all of one length. `elapsed_s` counts from the first sample and ascends; watts and beats are whole. */
export type SampleColumns = {
  elapsed_s: number[]
  power: Array<number | null>
  mpa: Array<number | null>
  hr: Array<number | null>
}

/** Finds an activity's samples as columns for a plot; those without a time have no place in it and are left out. */
export async function findSampleColumns(tx: Tx, activityId: number): Promise<SampleColumns> {
  const { rows } = await tx.client.query<[number, number | null, number | null, number | null]>({
    text: `select extract(epoch from t - min(t) over ())::float8, round(power::numeric)::int, round(mpa::numeric)::int,
             round(hr::numeric)::int
           from training.samples where activity_id = $1 and t is not null order by t`,
    values: [activityId],
    rowMode: 'array',
  })
  const columns: SampleColumns = { elapsed_s: [], power: [], mpa: [], hr: [] }
  for (const [elapsedS, power, mpa, hr] of rows) {
    columns.elapsed_s.push(elapsedS)
    columns.power.push(power)
    columns.mpa.push(mpa)
    columns.hr.push(hr)
  }
  return columns
}
