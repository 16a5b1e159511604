// Types without imports, because the browser's scripts use them, too, and have neither Node nor Postgres.

/** An activity as a line of a list. `started_at_local` is its own local time as ISO text without an offset. */
export type ActivityLine = {
  activity_id: number
  account: string
  name: string | null
  activity_type: string | null
  started_at_local: string | null
  detail_state: string
  elapsed_s: number | null
  distance_km: number | null
  avg_power: number | null
  xss: number | null
  breakthrough: number | null
}

/** What a list of activities is filtered by; what is undefined does not count. */
export type ActivityFilter = {
  /** words that the name or the description must have, each in one of them */
  search?: string | undefined
  account?: number | undefined
  type?: string | undefined
  /** of the local start */
  year?: number | undefined
  /** of the local start, `2026-03-10` */
  day?: string | undefined
  leastS?: number | undefined
  belowS?: number | undefined
  breakthrough?: boolean | undefined
  power?: boolean | undefined
  /** also those that the service lists no more */
  absent?: boolean | undefined
}

export type SortKey = 'started' | 'name' | 'time' | 'distance' | 'power' | 'xss'

/** The order of a list; an activity without the value comes last, both ways. */
export type ActivityOrder = { sort: SortKey; descending: boolean }

/** A part of a list of activities, and the sums of all of it. */
export type ActivityPage = {
  total: number
  /** activities that fit, too, but that the service lists no more */
  absent: number
  elapsed_s: number
  distance_km: number
  xss: number
  lines: ListedLine[]
}
export type ListedLine = ActivityLine & { absent: boolean; description: string | null }

/** What activities can be filtered by. */
export type ActivityFacets = {
  accounts: Array<{ account_id: number; account: string }>
  types: string[]
  years: number[]
}

/** The days of a year that have activities, one array a quantity. */
export type CalendarColumns = {
  days: string[]
  activities: number[]
  elapsed_s: Array<number | null>
  xss: Array<number | null>
}

/** Everything about one activity besides its samples. */
export type ActivityFacts = ActivityLine & {
  account_id: number
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
  prev_sig_atc: number | null
  prev_sig_pp: number | null
  carbs_g: number | null
  fat_g: number | null
  /** of the training info nearest to the start, the last before it if there is one */
  weight_kg: number | null
  medal: number | null
  freshness: string | null
  /** the file of the drop folder that was uploaded as this activity */
  file_name: string | null
  /** whether the FIT file that it came from is kept */
  has_fit: boolean
  fetch_error: string | null
  next_fetch_at: Date | null
  absent_since: Date | null
  fetched_at: Date | null
  /** how often the service has changed it */
  revisions: number
}

/** The listed activities of the same account just before and just after one. */
export type Neighbours = { older_id: number | null; newer_id: number | null }

/** One duration of an activity's power curve, W. */
export type CurvePoint = { duration_s: number; watts: number }

/**
 * One array a quantity, of one length or empty when nothing of it was recorded. `elapsed_s` counts from the first sample and
 * ascends; watts and beats are whole. Units as in training.samples.
 */
export type SampleColumns = Record<SampledColumn, Array<number | null>> & {
  elapsed_s: number[]
  /** the names of further fields, which are fetched one by one */
  fields: string[]
}
export type SampledColumn = 'power' | 'p_raw' | 'mpa' | 'hr' | 'cad' | 'alt' | 'dist' | 'lat' | 'lng'

/** A further field of the samples, a value for each of them. */
export type SampleField = { field: string; values: Array<number | null> }

/** How many seconds of an activity were how hard; null where the quantity or its bounds are not known. */
export type Zones = {
  ftp: number | null
  /** seconds in each of the seven zones of power */
  power_s: Array<number | null>
  hr_max: number | null
  /** seconds in each of the five zones of heart rate */
  hr_s: Array<number | null>
  above_ftp_s: number | null
  near_mpa_s: number | null
}

/** What the service changed in an activity: names of columns with the value before and after. */
export type Revision = { observed_at: Date; changes: Readonly<Record<string, readonly unknown[]>> }

/** A lap as the head unit wrote it; `from_s` counts from the first sample. */
export type Lap = {
  lap: number
  from_s: number | null
  elapsed_s: number | null
  timer_s: number | null
  distance_m: number | null
  avg_power: number | null
  max_power: number | null
  avg_hr: number | null
  max_hr: number | null
  avg_cadence: number | null
  trigger: string | null
}

/** The best mean powers of one duration to compare with, W, and where they come from. */
export type ComparedPoint = {
  duration_s: number
  watts: number
  activity_id: number | null
  day: string | null
}

/** A file of the drop folder and its outcome. */
export type UploadLine = {
  account: string
  file_name: string
  state: string
  reason: string | null
  seen_at: Date
  /** time from seen to mirrored, s */
  took_s: number | null
  activity_id: number | null
  activity_name: string | null
  xss: number | null
}

/** The newest training info (service document, endpoint 3). */
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

/** One array a quantity; `at` is seconds since 1970 and ascends. */
export type TimeColumns<Name extends string> = Record<Name, Array<number | null>> & { at: number[] }
export type SignatureColumns = TimeColumns<'ftp' | 'hie_kj' | 'pp' | 'ltp'>
/** The service document names no units of these. */
export type LoadColumns = TimeColumns<'training_load' | 'recovery_load' | 'form'>

/** `monday` is seconds since 1970 of that day at 0:00 UTC, and ascends without gaps. */
export type WeekColumns = {
  monday: number[]
  activities: number[]
  low_xss: number[]
  high_xss: number[]
  peak_xss: number[]
  /** the whole score; more than its parts where the service gives only the whole */
  xss: number[]
  /** the sum of what the service recommended day by day; null where it is not known of all seven days */
  recommended_xss: Array<number | null>
  /** the training load at the end of the week, or now */
  training_load: Array<number | null>
}

/** A best mean power, W, with the activity and its local day. */
export type Best = { watts: number; activity_id: number; day: string | null }

/** The best mean powers of one duration: of all time, of a season (a calendar year), and of the last 90 days. */
export type BestPoint = {
  duration_s: number
  all_time: Best | null
  season: Best | null
  last_90_days: Best | null
}

/** An account's present day, `YYYY-MM-DD`, and its days with a good poll in a row up to now; 90 days are known at most. */
export type TodayOfAccount = { day: string; days_mirrored: number }

/** The form after the last activity; the service gives no units of loads and form. */
export type FormNow = {
  day: string
  form: number
  training_load: number | null
  recovery_load: number | null
  freshness: string | null
}

/** The form after each activity of the last 90 days; `at` is seconds since 1970 and ascends. */
export type FormTrend = { at: number[]; form: number[] }

/** FTP in W over the last 90 days; `at` is seconds since 1970 and ascends. */
export type SignatureTrend = { at: number[]; ftp: number[]; ftp_six_weeks_ago: number | null }

/** A day of the week: what was done, and what the service recommended. */
export type WeekDay = {
  day: string
  activities: number
  elapsed_s: number
  distance_km: number
  xss: number
  recommended_xss: number | null
}

/** The workout of the day, and its files' contents by format (`erg`, `zwo`). */
export type WorkoutOfDay = {
  name: string | null
  type: string | null
  description: string | null
  difficulty: number | null
  files: Readonly<Record<string, string>>
}

/** The runs of the last 24 hours; `failed` counts those that failed as a whole or in part. */
export type RunsOfDay = { runs: number; failed: number; fetched: number }

/** A file that the page sent: each FIT in it by its content id, as in the ledger; or why it is not accepted. */
export type Dropped =
  | { accepted: true; fileName: string; contents: ReadonlyArray<{ fileName: string; contentId: string }> }
  | { accepted: false; reason: string }

/** What became of a content that was dropped. */
export type DroppedContent = {
  content_id: string
  file_name: string
  state: string
  reason: string | null
  activity_id: number | null
  activity_name: string | null
}
