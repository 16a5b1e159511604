/** The columns of `training.samples` that hold what was measured. */
export const SAMPLE_FIELDS = [
  'power',
  'mpa',
  'cad',
  'alt',
  'hr',
  'spd',
  'tgt',
  'lat',
  'lng',
  'dist',
  'tws',
  'xds',
  'p_raw',
  'lws',
  'hws',
  'pws',
] as const

export type SampleField = (typeof SAMPLE_FIELDS)[number]

/** An activity's samples by column. `t` is ms since 1970; NaN stands for NULL. The arrays may be longer than `count`. */
export type Samples = {
  readonly count: number
  readonly t: Float64Array
  readonly columns: Readonly<Record<SampleField, Float64Array>>
}

/** Samples, and the activity that they are of. */
export type ActivitySamples = { readonly activityId: number; readonly samples: Samples }
