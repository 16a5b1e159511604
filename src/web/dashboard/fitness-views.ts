/** What the fitness page shows; see views.ts. */
export type FitnessView = {
  accounts: readonly { account_id: number; account: string }[]
  /** the account that all the rest is of; null when there is none yet */
  account_id: number | null
  now: FitnessNow | null
  signature: SignatureColumns
  load: LoadColumns
  weeks: WeekColumns
  best: readonly BestPoint[]
}

/** What the service said last. */
export type FitnessNow = {
  seen_at: Date
  status: string | null
  weight_kg: number | null
  ftp: number | null
  ltp: number | null
  hie_kj: number | null
  pp: number | null
  tl_total: number | null
  target_total: number | null
}

/** `at` is seconds since 1970 and ascends. */
export type SignatureColumns = {
  at: readonly number[]
  ftp: ReadonlyArray<number | null>
  hie_kj: ReadonlyArray<number | null>
  pp: ReadonlyArray<number | null>
  ltp: ReadonlyArray<number | null>
}

/** `at` is seconds since 1970 and ascends. The service tells no units of these. */
export type LoadColumns = {
  at: readonly number[]
  training_load: ReadonlyArray<number | null>
  recovery_load: ReadonlyArray<number | null>
  form: ReadonlyArray<number | null>
}

/** `monday` is seconds since 1970 of that day at 0:00 UTC, and ascends without gaps. */
export type WeekColumns = {
  monday: readonly number[]
  activities: readonly number[]
  low_xss: readonly number[]
  high_xss: readonly number[]
  peak_xss: readonly number[]
  /** the whole score; more than its parts where the service tells only the whole */
  xss: readonly number[]
}

export type BestPoint = {
  duration_s: number
  all_time: number | null
  season: number | null
  last_90_days: number | null
}
