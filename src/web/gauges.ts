import { Gauge, type Registry } from 'prom-client'

/** How one account stands; ages are told from the times when the page is asked for. */
export type AccountFigures = {
  account: string
  needsLogin: boolean
  /** when the list was last polled to its end; null: never */
  polledAt: Date | null
  /** of the access token; null when nobody has signed in */
  token: { obtainedAt: Date; expiresAt: Date; refreshFailures: number } | null
}

/** How many of something an account has in each state. */
export type StateCount = { account: string; state: string; count: number }

/** What the database says at one moment. */
export type DatabaseFigures = {
  accounts: readonly AccountFigures[]
  activities: readonly StateCount[]
  /** activities never fetched yet, by account */
  backfillToGo: ReadonlyArray<{ account: string; count: number }>
  uploads: readonly StateCount[]
  /** what waits in the drop folders, by the reason's code */
  waitingFiles: ReadonlyArray<{ code: string; count: number }>
  samplesBytes: number
  databaseBytes: number
}

/** Jobs by queue and state, and the names of the queues that are paused. */
export type QueueFigures = Readonly<{
  jobs: Readonly<Record<string, Readonly<Record<string, number>>>>
  paused: readonly string[]
}>

/** What is read when the page is asked for; undefined: that part does not answer now. */
export type Figures = { database: DatabaseFigures | undefined; queue: QueueFigures | undefined }

/** One unit of mirroring that has come to its end. */
export type EndedRun = { resource: string; kind: string; outcome: string; seconds: number }

/** Sets every gauge to what was read; what is not known now has no line, and `musette_up` says which part is away. */
export type SetGauges = (figures: Figures, now: Date) => void

/** Shown also when nothing waits, so that an alarm has something to compare. */
const WAITING_CODES = ['not_whole', 'unreadable_file', 'too_large', 'no_account', 'vanished', 'read_only']

type Registers = { registers: Registry[] }

/** Makes the gauges whose values are read when the page is asked for. */
export function makeGauges(registry: Registry): SetGauges {
  const to = { registers: [registry] }
  const up = new Gauge({
    ...to,
    name: 'musette_up',
    help: 'Whether a part answers (1) or not (0); figures of a part that does not answer are left out.',
    labelNames: ['part'],
  })
  const showAccounts = makeAccountGauges(to)
  const showCounts = makeCountGauges(to)
  const showQueue = makeQueueGauge(to)
  return ({ database, queue }, now) => {
    up.set({ part: 'database' }, database ? 1 : 0)
    up.set({ part: 'queue' }, queue ? 1 : 0)
    showAccounts(database?.accounts ?? [], now)
    showCounts(database)
    showQueue(queue ?? { jobs: {}, paused: [] })
  }
}

function makeAccountGauges(to: Registers) {
  const gauge = (name: string, help: string) => new Gauge({ ...to, name, help, labelNames: ['account'] })
  const freshness = gauge(
    'musette_account_freshness_seconds',
    'Seconds since the activity list was last polled to its end; +Inf: never.',
  )
  const needsLogin = gauge(
    'musette_account_needs_login',
    'Whether a person must sign in again (1) or not (0).',
  )
  const age = gauge('musette_token_age_seconds', 'Seconds since the access token was obtained.')
  const expires = gauge(
    'musette_token_expires_seconds',
    'Seconds until the access token ends; below 0: ended.',
  )
  const failures = gauge(
    'musette_token_refresh_failures',
    'Attempts in a row that failed to renew the access token.',
  )
  return (accounts: readonly AccountFigures[], now: Date) => {
    for (const each of [freshness, needsLogin, age, expires, failures]) each.reset()
    for (const { account, polledAt, token, ...rest } of accounts) {
      freshness.set({ account }, polledAt ? secondsBetween(polledAt, now) : Number.POSITIVE_INFINITY)
      needsLogin.set({ account }, rest.needsLogin ? 1 : 0)
      if (!token) continue
      age.set({ account }, secondsBetween(token.obtainedAt, now))
      expires.set({ account }, secondsBetween(now, token.expiresAt))
      failures.set({ account }, token.refreshFailures)
    }
  }
}

function makeCountGauges(to: Registers) {
  const byState = { ...to, labelNames: ['account', 'state'] }
  const activities = new Gauge({
    ...byState,
    name: 'musette_activities',
    help: 'Activities by state; absent: in the mirror, no longer at the service.',
  })
  const toGo = new Gauge({
    ...to,
    name: 'musette_backfill_to_go',
    help: 'Activities that the service lists and that were never fetched yet.',
    labelNames: ['account'],
  })
  const uploads = new Gauge({ ...byState, name: 'musette_uploads', help: 'Files in the ledger by state.' })
  const waiting = new Gauge({
    ...to,
    name: 'musette_drop_folder_waiting',
    help: 'Files in the drop folder that wait for a person, and what is wrong with the folder, by code; 1,000 at most.',
    labelNames: ['code'],
  })
  const samples = new Gauge({
    ...to,
    name: 'musette_samples_bytes',
    help: 'Bytes on disk of the table training.samples with its index.',
  })
  const whole = new Gauge({
    ...to,
    name: 'musette_database_bytes',
    help: 'Bytes on disk of the whole database.',
  })
  return (database: DatabaseFigures | undefined) => {
    for (const each of [activities, toGo, uploads, waiting]) each.reset()
    // A gauge without labels is reset to 0, and that would be a lie.
    for (const each of [samples, whole]) each.remove()
    if (!database) return
    for (const { account, state, count } of database.activities) activities.set({ account, state }, count)
    for (const { account, count } of database.backfillToGo) toGo.set({ account }, count)
    for (const { account, state, count } of database.uploads) uploads.set({ account, state }, count)
    for (const code of WAITING_CODES) waiting.set({ code }, 0)
    for (const { code, count } of database.waitingFiles) waiting.set({ code }, count)
    samples.set(database.samplesBytes)
    whole.set(database.databaseBytes)
  }
}

function makeQueueGauge(to: Registers) {
  const jobs = new Gauge({
    ...to,
    name: 'musette_queue_jobs',
    help: 'Jobs by queue and state; completed and failed are those still kept.',
    labelNames: ['queue', 'state'],
  })
  const isPaused = new Gauge({
    ...to,
    name: 'musette_queue_paused',
    help: 'Whether a queue is paused (1) or not (0); a daemon that runs resumes it within a minute.',
    labelNames: ['queue'],
  })
  return (queues: QueueFigures) => {
    jobs.reset()
    isPaused.reset()
    for (const [queue, states] of Object.entries(queues.jobs)) {
      isPaused.set({ queue }, queues.paused.includes(queue) ? 1 : 0)
      for (const [state, count] of Object.entries(states)) jobs.set({ queue, state }, count)
    }
  }
}

function secondsBetween(from: Date, to: Date): number {
  return (to.getTime() - from.getTime()) / 1000
}
