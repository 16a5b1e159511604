import type {
  ActivityFacts,
  ActivityLine,
  BestPoint,
  CurvePoint,
  FitnessNow,
  LoadColumns,
  Neighbours,
  SampleColumns,
  SignatureColumns,
  UploadLine,
  WeekColumns,
} from '../../store/dashboard/page-rows.ts'

/** The queries behind the pages. Each throws a TransientError while the database is unreachable. */
export type DashboardDeps = {
  findOverview(): Promise<Overview>
  findRuns(): Promise<RunsView>
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
  uploads: readonly UploadLine[]
  /** files that wait in the drop folder, the longest first */
  waiting: readonly WaitingView[]
  activities: readonly ActivityLine[]
  /** the scheduled backups; null when none are configured */
  backup: BackupView | null
}

export type AccountView = {
  account: string
  /** host of the service */
  service: string
  login: 'signed in' | 'needs login'
  /** the command that signs in; null when none is needed */
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
  failed: number | null
  error: string | null
}

/** The content of an activity's page, but its samples. */
export type ActivityView = Neighbours & {
  facts: ActivityFacts
  /** the activity's power curve beside the season's best, by duration */
  curve: readonly CurvePoint[]
  season: number | null
}

/** The content of the fitness page. */
export type FitnessView = {
  accounts: readonly { account_id: number; account: string }[]
  /** the account of all the rest; null when there is none yet */
  account_id: number | null
  now: FitnessNow | null
  signature: SignatureColumns
  load: LoadColumns
  weeks: WeekColumns
  best: readonly BestPoint[]
}

/** A view as the browser receives it: JSON has no dates. */
export type Serialized<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Serialized<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Serialized<T[Key]> }
      : T
