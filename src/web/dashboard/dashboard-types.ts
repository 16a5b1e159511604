import type { ProfileStep } from '../../normalize/erg-profile.ts'
import type {
  ActivityFacets,
  ActivityFacts,
  ActivityFilter,
  ActivityLine,
  ActivityOrder,
  ActivityPage,
  BestPoint,
  CalendarColumns,
  ComparedPoint,
  CurvePoint,
  Dropped,
  DroppedContent,
  FitnessNow,
  FormNow,
  FormTrend,
  Lap,
  LoadColumns,
  Neighbours,
  Revision,
  RunsOfDay,
  SampleColumns,
  SampleField,
  SignatureColumns,
  SignatureTrend,
  TodayOfAccount,
  UploadLine,
  WeekColumns,
  WeekDay,
  WorkoutOfDay,
  Zones,
} from '../../store/dashboard/page-rows.ts'

/** The queries behind the pages. Each throws a TransientError while the database is unreachable. */
export type DashboardDeps = {
  /** with the day of the first account when none is named; undefined when there is no such account */
  findToday(input: { accountId?: number | undefined }): Promise<TodayView | undefined>
  /** a file of the workout that the newest training info names; undefined when there is none */
  findWorkoutFile(input: { accountId: number; format: string }): Promise<WorkoutFileView | undefined>
  findRuns(): Promise<RunsView>
  findActivityPage(input: ActivityQuery & { offset: number; limit: number }): Promise<ActivityPage>
  /** what the list can be filtered by, and the days of one year; without a year those of the newest */
  findActivityCalendar(input: ActivityQuery): Promise<CalendarView>
  /** undefined when there is no such activity */
  findActivity(input: { activityId: number }): Promise<ActivityView | undefined>
  /** undefined when there is no such activity; empty columns when it has no samples */
  findSamples(input: { activityId: number }): Promise<SampleColumns | undefined>
  /** undefined when there is no such activity, or no such field */
  findSampleField(input: { activityId: number; field: string }): Promise<SampleField | undefined>
  /** undefined when there is no such activity */
  findCompared(
    input: { activityId: number } & { compared: Compared },
  ): Promise<{ points: readonly ComparedPoint[] } | undefined>
  /** undefined when there is no such activity; the reason as a sentence when it has no samples */
  openDownload(input: {
    activityId: number
    format: DownloadFormat
    signal: AbortSignal
  }): Promise<Download | { missing: string } | undefined>
  /** of the first account and the newest season when none is named; undefined when there is no such account */
  findFitness(input: {
    accountId?: number | undefined
    season?: number | undefined
  }): Promise<FitnessView | undefined>
}

/** A filtered and sorted list of activities. */
export type ActivityQuery = { filter: ActivityFilter; order: ActivityOrder }

/** The choices of a list of activities, and one year of it by day. */
export type CalendarView = ActivityFacets & { year: number | null; calendar: CalendarColumns }

/**
 * The part of the first page that all accounts share. Instants are dates here and ISO texts in the browser (Serialized).
 * Names end in their unit.
 */
export type TodayShared = {
  accounts: readonly AccountView[]
  /** what a person should know or do, the most urgent first */
  problems: readonly ProblemView[]
  /** activities whose last answer could not be used, newest first */
  failed: readonly FailedView[]
  /** files of the drop folder, last seen first */
  uploads: readonly UploadLine[]
  /** files that wait in the drop folder, the longest first */
  waiting: readonly WaitingView[]
  activities: readonly ActivityLine[]
  runs: RunsOfDay
  /** the scheduled backups; null when none are configured */
  backup: BackupView | null
}

/** The content of the first page; `today` is null while there is no account. */
export type TodayView = TodayShared & { today: AccountToday | null }

/** The day of one account. */
export type AccountToday = TodayOfAccount & {
  account_id: number
  sync_command: string
  fitness: FitnessNow | null
  form: FormNow | null
  form_trend: FormTrend
  signature: SignatureTrend
  /** Monday to Sunday */
  week: readonly WeekDay[]
  workout: WorkoutView | null
}

/** The workout of the day; `profile` is empty where no file tells it. */
export type WorkoutView = Omit<WorkoutOfDay, 'files'> & {
  formats: readonly string[]
  profile: readonly ProfileStep[]
}

/** A workout file to download. */
export type WorkoutFileView = { name: string; content: string }

/** A problem in a sentence, with the command to type where there is one. `calm`: it passes by itself, or is past. */
export type ProblemView = {
  text: string
  command: string | null
  calm?: boolean
  /** the account whose home time zone mends it, which the browser may offer */
  home_of?: string
}

export type AccountView = {
  account_id: number
  account: string
  /** host of the service */
  service: string
  login: 'signed in' | 'needs login'
  /** the command that signs in; null when none is needed */
  next_command: string | null
  /** the command that mirrors it now */
  sync_command: string
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
  /** the command that fetches it now */
  resync_command: string
}

export type WaitingView = {
  path: string
  account: string | null
  reason: string
  waiting_since: Date
}

export type BackupView = { done_at: Date | null; bytes: number | null; problem: string | null }

/** The content of the page of runs: the last ones, newest first. */
export type RunsView = { runs: readonly RunView[]; several: boolean }

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
  absent: number | null
  failed: number | null
  error: string | null
}

/** The content of an activity's page, but its samples. */
export type ActivityView = Neighbours & {
  facts: ActivityFacts
  /** the activity's power curve by duration */
  curve: readonly CurvePoint[]
  season: number | null
  /** the years whose bests the curve can be compared with, newest first */
  seasons: readonly number[]
  /** null without samples */
  zones: Zones | null
  revisions: readonly Revision[]
  laps: readonly Lap[]
  /** address of map tiles with `{z}`, `{x}` and `{y}`; null when there are none */
  map_tiles: string | null
  /** whether there are other accounts */
  several: boolean
  /** the command that fetches it again */
  resync_command: string
}

/** What an activity's power curve is compared with. */
export type Compared =
  | { span: 'season'; season: number }
  | { span: 'all time' }
  | { span: 'last 90 days' }
  | { span: 'activity'; other: number }

/** A form in which the samples of an activity can be downloaded. */
export type DownloadFormat = 'csv' | 'json' | 'parquet' | 'fit'

/** A download as it begins; its content ends with an error when it breaks off in the middle. */
export type Download = { fileName: string; content: AsyncIterable<Uint8Array> }

/** The content of the fitness page. */
export type FitnessView = {
  accounts: readonly { account_id: number; account: string }[]
  /** the account of all the rest; null when there is none yet */
  account_id: number | null
  sync_command: string
  now: FitnessNow | null
  signature: SignatureColumns
  load: LoadColumns
  weeks: WeekColumns
  /** the calendar years with a power curve, newest first */
  seasons: readonly number[]
  /** the season of `best` */
  season: number | null
  best: readonly BestPoint[]
}

/** What the routes need that change something. */
export type HomeTimezoneDeps = {
  /** Sets the time zone of the rider's home, an IANA name. */
  setHomeTimezone(input: { account: string; timezone: string }): Promise<void>
}

/** What the drop zone needs. */
export type DropZoneDeps = {
  /** why this process accepts no files, with what to do instead; undefined when it does */
  closed: string | undefined
  /** Puts a file into the drop folder of an account; resolves when it is safe there, or refused. */
  dropFile(input: { account: string; name: string; bytes: AsyncIterable<Uint8Array> }): Promise<Dropped>
  /** Finds what became of contents; those that the ledger does not know yet are left out. */
  findContents(input: { account: string; contentIds: readonly string[] }): Promise<readonly DroppedContent[]>
}

/** A view as the browser receives it: JSON has no dates. */
export type Serialized<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Serialized<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Serialized<T[Key]> }
      : T
