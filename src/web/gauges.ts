import { Gauge, type Registry } from 'prom-client'
import type { AccountHealth, HealthCounts } from '../store/health.ts'

/** The state of the database at one moment. */
export type DatabaseHealth = { accounts: readonly AccountHealth[]; counts: HealthCounts }

/** Jobs by queue and state, and the names of the queues that are paused. */
export type QueueHealth = Readonly<{
  jobs: Readonly<Record<string, Readonly<Record<string, number>>>>
  paused: readonly string[]
}>

/** The values of the gauges at one scrape; a part that does not answer is undefined. */
export type HealthSnapshot = { database: DatabaseHealth | undefined; queue: QueueHealth | undefined }

/** Sets every gauge; an unknown value has no line, and `musette_up` says which part does not answer. */
type SetGauges = (snapshot: HealthSnapshot, now: Date) => void

/** Shown also at 0, so that an alarm has a value to compare. */
const WAITING_CODES = [
  ...['not_whole', 'unreadable_file', 'too_large', 'no_account'],
  ...['vanished', 'other_database', 'read_only'],
]

type Registers = { registers: Registry[] }

/** Makes the gauges whose values are read at each scrape. */
export function makeGauges(registry: Registry): SetGauges {
  const to = { registers: [registry] }
  const up = new Gauge({
    ...to,
    name: 'musette_up',
    help: 'Whether a part answers (1) or not (0); metrics of a part that does not answer are left out.',
    labelNames: ['part'],
  })
  const setAccounts = makeAccountGauges(to)
  const setCounts = makeCountGauges(to)
  const setQueue = makeQueueGauge(to)
  return ({ database, queue }, now) => {
    up.set({ part: 'database' }, database ? 1 : 0)
    up.set({ part: 'queue' }, queue ? 1 : 0)
    setAccounts(database?.accounts ?? [], now)
    setCounts(database?.counts, now)
    setQueue(queue ?? { jobs: {}, paused: [] })
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
  return (accounts: readonly AccountHealth[], now: Date) => {
    for (const each of [freshness, needsLogin, age, expires, failures]) each.reset()
    for (const { account, ...health } of accounts) {
      const { polled_at: polledAt, token_obtained_at: obtainedAt, token_expires_at: expiresAt } = health
      freshness.set({ account }, polledAt ? secondsBetween(polledAt, now) : Number.POSITIVE_INFINITY)
      needsLogin.set({ account }, health.needs_login ? 1 : 0)
      if (!obtainedAt || !expiresAt) continue
      age.set({ account }, secondsBetween(obtainedAt, now))
      expires.set({ account }, secondsBetween(now, expiresAt))
      failures.set({ account }, health.refresh_failures ?? 0)
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
  const verified = new Gauge({
    ...to,
    name: 'musette_verified_age_seconds',
    help: 'Seconds since the activity was compared with the service, value by value, whose comparison is the longest ago; +Inf while one never was.',
    labelNames: ['account'],
  })
  const differed = new Gauge({
    ...to,
    name: 'musette_scrub_differences',
    help: 'Activities that comparisons of the last 30 days found different, without any sign of it before.',
    labelNames: ['account'],
  })
  const uploads = new Gauge({ ...byState, name: 'musette_uploads', help: 'Files in the ledger by state.' })
  const waiting = new Gauge({
    ...to,
    name: 'musette_drop_folder_waiting',
    help: 'Files in the drop folder that wait for a person, and what is wrong with the folder, by code; 1,000 at most.',
    labelNames: ['code'],
  })
  const messages = new Gauge({
    ...to,
    name: 'musette_webhook_messages',
    help: 'Messages of the webhooks by state: open, delivered and dropped of the last week, given_up of the last 90 days.',
    labelNames: ['webhook', 'state'],
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
  const exported = new Gauge({
    ...to,
    name: 'musette_export_age_seconds',
    help: 'Seconds since the daemon last exported the whole history; no line while it never did.',
  })
  const heartbeat = new Gauge({
    ...to,
    name: 'musette_heartbeat_age_seconds',
    help: 'Seconds since the monitor of MUSETTE_HEARTBEAT_URL was last told that all is in order; no line while it never was.',
  })
  const mqtt = new Gauge({
    ...to,
    name: 'musette_mqtt_connected',
    help: 'Whether a process is connected to the MQTT broker (1) or not (0); no line without MUSETTE_MQTT_URL.',
  })
  const backup = makeBackupGauges(to)
  return (counts: HealthCounts | undefined, now: Date) => {
    backup(counts, now)
    for (const each of [activities, toGo, verified, differed, uploads, waiting, messages]) each.reset()
    // `reset` would set a gauge without labels to 0, which is not unknown.
    for (const each of [samples, whole, exported, heartbeat, mqtt]) each.remove()
    if (!counts) return
    for (const { account, state, count } of counts.activities) activities.set({ account, state }, count)
    for (const { account, count } of counts.neverFetched) toGo.set({ account }, count)
    for (const { account, since, unverified, differed: found } of counts.verified) {
      differed.set({ account }, found)
      if (unverified > 0) verified.set({ account }, Number.POSITIVE_INFINITY)
      else if (since) verified.set({ account }, secondsBetween(since, now))
    }
    for (const { account, state, count } of counts.uploads) uploads.set({ account, state }, count)
    for (const code of WAITING_CODES) waiting.set({ code }, 0)
    for (const { code, count } of counts.waitingFiles) waiting.set({ code }, count)
    for (const { webhook, state, count } of counts.messages) messages.set({ webhook, state }, count)
    samples.set(counts.samplesBytes)
    whole.set(counts.databaseBytes)
    if (counts.exportedAt) exported.set(secondsBetween(counts.exportedAt, now))
    if (counts.mqttConnected !== null) mqtt.set(counts.mqttConnected ? 1 : 0)
    if (counts.heartbeatAt) heartbeat.set(secondsBetween(counts.heartbeatAt, now))
  }
}

function makeBackupGauges(to: Registers) {
  const gauge = (name: string, help: string) =>
    new Gauge({ ...to, name, help: `${help}; no line while there is none.` })
  const age = gauge('musette_backup_age_seconds', 'Seconds since the last scheduled backup was complete')
  const seconds = gauge('musette_backup_seconds', 'Seconds that the last complete scheduled backup took')
  const bytes = gauge('musette_backup_bytes', 'Size of the last complete scheduled backup')
  const failed = gauge(
    'musette_backup_failed',
    'Whether the newest scheduled backup that ended failed (1) or not (0)',
  )
  const verifiedAge = gauge(
    'musette_backup_verified_age_seconds',
    'Seconds since a scheduled backup was restored and compared, row for row',
  )
  const unproved = gauge(
    'musette_backup_verify_failed',
    'Whether the newest comparison of a scheduled backup failed (1) or not (0)',
  )
  return (counts: HealthCounts | undefined, now: Date) => {
    for (const each of [age, seconds, bytes, failed, verifiedAge, unproved]) each.remove()
    const { backup, backupVerified: verified } = counts ?? {}
    if (verified?.doneAt) verifiedAge.set(secondsBetween(verified.doneAt, now))
    if (verified?.outcome) unproved.set(verified.outcome === 'done' ? 0 : 1)
    if (backup?.doneAt) age.set(secondsBetween(backup.doneAt, now))
    if (backup?.seconds != null) seconds.set(backup.seconds)
    if (backup?.bytes != null) bytes.set(backup.bytes)
    if (backup?.outcome) failed.set(backup.outcome === 'done' ? 0 : 1)
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
  return (queues: QueueHealth) => {
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
