/** The queries behind the pages. Each throws a TransientError while the database is unreachable. */
export type DashboardDeps = {
  findOverview(): Promise<Overview>
  /** the activities that started before another one, newest first */
  findOlderActivities(input: { than: number }): Promise<readonly ActivityLine[]>
  /** undefined when there is no such activity */
  findActivity(input: { activityId: number }): Promise<ActivityView | undefined>
  /** undefined when there is no such activity; empty columns when it has no samples */
  findSamples(input: { activityId: number }): Promise<SampleColumns | undefined>
  /** of the first account when none is named; undefined when there is no such account */
  findFitness(input: { accountId?: number | undefined }): Promise<FitnessView | undefined>
}

/** The content of the overview. Instants are dates here and ISO texts in the browser (Serialized). Names end in their unit. */
export type Overview = {
  accounts: readonly AccountView[]
  /** activities whose last answer could not be used, newest first */
  failed: readonly FailedView[]
  /** files of the drop folder, last seen first */
  uploads: readonly UploadView[]
  /** what waits in the drop folder, the longest first */
  waiting: readonly WaitingView[]
  /** what was asked of the service, newest first */
  runs: readonly RunView[]
  activities: readonly ActivityLine[]
}

export type AccountView = {
  account: string
  /** host of the service */
  service: string
  login: 'signed in' | 'needs login'
  /** what to type to sign in; null when nothing is to be typed */
  next_command: string | null
  last_error: string | null
  login_expires_at: Date | null
  activities: number
  mirrored: number
  wanted: number
  awaiting_samples: number
  failed: number
  absent: number
  samples: number
  newest_activity_at: Date | null
  polled_at: Date | null
  /** why the last comparison of whole lists changed nothing */
  reconcile_error: string | null
  fetched_per_minute: number | null
  seconds_to_go: number | null
}

export type FailedView = {
  account: string
  activity_id: number
  path: string
  name: string | null
  reason: string | null
  next_try_at: Date | null
}

export type UploadView = {
  account: string
  file_name: string
  state: string
  reason: string | null
  seen_at: Date
  /** from seen to mirrored */
  took_s: number | null
  activity_id: number | null
  activity_name: string | null
  xss: number | null
}

export type WaitingView = {
  path: string
  account: string | null
  reason: string
  waiting_since: Date
}

export type RunView = {
  account: string | null
  resource: string
  kind: string
  started_at: Date
  finished_at: Date | null
  outcome: string
  listed: number | null
  changed: number | null
  fetched: number | null
  failed: number | null
  error: string | null
}

export type ActivityLine = {
  activity_id: number
  account: string
  name: string | null
  activity_type: string | null
  /** wall clock of the activity's own zone, without an offset */
  started_at_local: string | null
  detail_state: string
  elapsed_s: number | null
  distance_km: number | null
  avg_power: number | null
  xss: number | null
  breakthrough: number | null
}

export type ActivityView = {
  facts: ActivityFacts
  /** the ride's power curve beside the season's best, by duration */
  curve: readonly CurvePoint[]
  season: number | null
  older_id: number | null
  newer_id: number | null
}

export type ActivityFacts = ActivityLine & {
  path: string
  description: string | null
  timezone: string | null
  started_at: Date | null
  sample_count: number | null
  max_power: number | null
  max_cadence: number | null
  elevation_gain_m: number | null
  energy_kcal: number | null
  xlss: number | null
  xhss: number | null
  xpss: number | null
  focus: string | null
  specificity: string | null
  difficulty: number | null
  difficulty_rating: string | null
  sig_ftp: number | null
  sig_atc: number | null
  sig_pp: number | null
  prev_sig_ftp: number | null
  medal: number | null
  freshness: string | null
  file_name: string | null
  fetch_error: string | null
  next_fetch_at: Date | null
  absent_since: Date | null
  fetched_at: Date | null
  revisions: number
}

export type CurvePoint = {
  duration_s: number
  watts: number | null
  best_watts: number | null
  best_activity_id: number | null
  best_day: string | null
}

/** One array a quantity, all of one length; `elapsed_s` ascends. */
export type SampleColumns = {
  elapsed_s: readonly number[]
  power: ReadonlyArray<number | null>
  mpa: ReadonlyArray<number | null>
  hr: ReadonlyArray<number | null>
}

/** The content of the fitness page. */
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

/** A view as the browser receives it: JSON has no dates. */
export type Serialized<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Serialized<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Serialized<T[Key]> }
      : T
