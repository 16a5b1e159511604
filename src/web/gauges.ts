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

/** Makes a gauge whose values last until the next scrape. */
type MakeGauge = <L extends string = never>(name: string, help: string, ...labelNames: L[]) => Gauge<L>

/** Makes the gauges whose values are read at each scrape. */
export function makeGauges(registry: Registry): SetGauges {
  const forgetValues: Array<() => void> = []
  const gauge: MakeGauge = (name, help, ...labelNames) => {
    const made = new Gauge({ registers: [registry], name, help, labelNames })
    // `reset` would set a gauge without labels to 0, which is not unknown.
    forgetValues.push(() => (labelNames.length > 0 ? made.reset() : made.remove()))
    return made
  }
  const up = gauge(
    'musette_up',
    'Whether a part answers (1) or not (0); metrics of a part that does not answer are left out.',
    'part',
  )
  const setAccount = makeAccountGauges(gauge)
  const setCounts = makeCountGauges(gauge)
  const setBackups = makeBackupGauges(gauge)
  const setQueues = makeQueueGauges(gauge)
  return ({ database, queue }, now) => {
    for (const forget of forgetValues) forget()
    up.set({ part: 'database' }, database ? 1 : 0)
    up.set({ part: 'queue' }, queue ? 1 : 0)
    for (const account of database?.accounts ?? []) setAccount(account, now)
    if (database) setCounts(database.counts, now)
    if (database) setBackups(database.counts, now)
    if (queue) setQueues(queue)
  }
}

function makeAccountGauges(gauge: MakeGauge) {
  const freshness = gauge(
    'musette_account_freshness_seconds',
    'Seconds since the activity list was last polled to its end; +Inf: never.',
    'account',
  )
  const needsLogin = gauge(
    'musette_account_needs_login',
    'Whether a person must sign in again (1) or not (0).',
    'account',
  )
  const age = gauge('musette_token_age_seconds', 'Seconds since the access token was obtained.', 'account')
  const expires = gauge(
    'musette_token_expires_seconds',
    'Seconds until the access token ends; below 0: ended.',
    'account',
  )
  const failures = gauge(
    'musette_token_refresh_failures',
    'Attempts in a row that failed to renew the access token.',
    'account',
  )
  const refused = gauge(
    'musette_token_refused_seconds',
    'Seconds since the service refuses the tokens that it makes; 0: it accepts them.',
    'account',
  )
  return ({ account, ...health }: AccountHealth, now: Date) => {
    const { polled_at: polledAt, token_obtained_at: obtainedAt, token_expires_at: expiresAt } = health
    freshness.set({ account }, polledAt ? secondsBetween(polledAt, now) : Number.POSITIVE_INFINITY)
    needsLogin.set({ account }, health.needs_login ? 1 : 0)
    if (!obtainedAt || !expiresAt) return
    age.set({ account }, secondsBetween(obtainedAt, now))
    expires.set({ account }, secondsBetween(now, expiresAt))
    failures.set({ account }, health.refresh_failures ?? 0)
    refused.set({ account }, health.refused_since ? secondsBetween(health.refused_since, now) : 0)
  }
}

function makeCountGauges(gauge: MakeGauge) {
  const activities = gauge(
    'musette_activities',
    'Activities by state; absent: in the mirror, no longer at the service.',
    'account',
    'state',
  )
  const toGo = gauge(
    'musette_backfill_to_go',
    'Activities that the service lists and that were never fetched yet.',
    'account',
  )
  const verified = gauge(
    'musette_verified_age_seconds',
    'Seconds since the activity was compared with the service, value by value, whose comparison is the longest ago; +Inf while one never was.',
    'account',
  )
  const differed = gauge(
    'musette_scrub_differences',
    'Activities that comparisons of the last 30 days found different, without any sign of it before.',
    'account',
  )
  const uploads = gauge('musette_uploads', 'Files in the ledger by state.', 'account', 'state')
  const waiting = gauge(
    'musette_drop_folder_waiting',
    'Files in the drop folder that wait for a person, and what is wrong with the folder, by code; 1,000 at most.',
    'code',
  )
  const messages = gauge(
    'musette_webhook_messages',
    'Messages of the webhooks by state: open, delivered and dropped of the last week, given_up of the last 90 days.',
    'webhook',
    'state',
  )
  const samples = gauge(
    'musette_samples_bytes',
    'Bytes on disk of the table training.samples with its index.',
  )
  const whole = gauge('musette_database_bytes', 'Bytes on disk of the whole database.')
  const exported = gauge(
    'musette_export_age_seconds',
    'Seconds since the daemon last exported the whole history; no line while it never did.',
  )
  const heartbeat = gauge(
    'musette_heartbeat_age_seconds',
    'Seconds since the monitor of MUSETTE_HEARTBEAT_URL was last told that all is in order; no line while it never was.',
  )
  const mqtt = gauge(
    'musette_mqtt_connected',
    'Whether a process is connected to the MQTT broker (1) or not (0); no line without MUSETTE_MQTT_URL.',
  )
  return (counts: HealthCounts, now: Date) => {
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

function makeBackupGauges(gauge: MakeGauge) {
  const ofBackup = (name: string, help: string) => gauge(name, `${help}; no line while there is none.`)
  const age = ofBackup('musette_backup_age_seconds', 'Seconds since the last scheduled backup was complete')
  const seconds = ofBackup('musette_backup_seconds', 'Seconds that the last complete scheduled backup took')
  const bytes = ofBackup('musette_backup_bytes', 'Size of the last complete scheduled backup')
  const failed = ofBackup(
    'musette_backup_failed',
    'Whether the newest scheduled backup that ended failed (1) or not (0)',
  )
  const verifiedAge = ofBackup(
    'musette_backup_verified_age_seconds',
    'Seconds since a scheduled backup was restored and compared, row for row',
  )
  const unproved = ofBackup(
    'musette_backup_verify_failed',
    'Whether the newest comparison of a scheduled backup failed (1) or not (0)',
  )
  return ({ backup, backupVerified: verified }: HealthCounts, now: Date) => {
    if (verified.doneAt) verifiedAge.set(secondsBetween(verified.doneAt, now))
    if (verified.outcome) unproved.set(verified.outcome === 'done' ? 0 : 1)
    if (backup.doneAt) age.set(secondsBetween(backup.doneAt, now))
    if (backup.seconds !== null) seconds.set(backup.seconds)
    if (backup.bytes !== null) bytes.set(backup.bytes)
    if (backup.outcome) failed.set(backup.outcome === 'done' ? 0 : 1)
  }
}

function makeQueueGauges(gauge: MakeGauge) {
  const jobs = gauge(
    'musette_queue_jobs',
    'Jobs by queue and state; completed and failed are those still kept.',
    'queue',
    'state',
  )
  const isPaused = gauge(
    'musette_queue_paused',
    'Whether a queue is paused (1) or not (0); a daemon that runs resumes it within a minute.',
    'queue',
  )
  return (queues: QueueHealth) => {
    for (const [queue, states] of Object.entries(queues.jobs)) {
      isPaused.set({ queue }, queues.paused.includes(queue) ? 1 : 0)
      for (const [state, count] of Object.entries(states)) jobs.set({ queue, state }, count)
    }
  }
}

function secondsBetween(from: Date, to: Date): number {
  return (to.getTime() - from.getTime()) / 1000
}
