import { Gauge, type Registry } from 'prom-client'
import type { AccountHealth, HealthCounts } from '../../store/health.ts'

/** The state of the database at one moment. */
export type DatabaseHealth = { accounts: readonly AccountHealth[]; counts: HealthCounts }

/** Jobs by queue and state, and the names of the queues that are paused. */
export type QueueHealth = Readonly<{
  jobs: Readonly<Record<string, Readonly<Record<string, number>>>>
  paused: readonly string[]
}>

/** The values of the gauges at one scrape; undefined parts did not answer. */
export type HealthSnapshot = { database: DatabaseHealth | undefined; queue: QueueHealth | undefined }

/** Shown also at 0, so that an alarm can compare it. */
const WAITING_CODES = [
  ...['not_whole', 'unreadable_file', 'too_large', 'no_account'],
  ...['vanished', 'other_database', 'read_only'],
]

/** The value of each gauge, by name and labels. */
const GAUGES = {
  part: {
    musette_up: 'Whether a part answers (1) or not (0); metrics of a part that does not answer are left out.',
  },
  account: {
    musette_account_freshness_seconds:
      'Seconds since the activity list was last polled to its end; +Inf: never.',
    musette_account_needs_login: 'Whether a person must sign in again (1) or not (0).',
    musette_token_age_seconds: 'Seconds since the access token was obtained.',
    musette_token_expires_seconds: 'Seconds until the access token ends; below 0: ended.',
    musette_token_refresh_failures: 'Attempts in a row that failed to renew the access token.',
    musette_token_refused_seconds:
      'Seconds since the service refuses the tokens that it makes; 0: it accepts them.',
    musette_backfill_to_go: 'Activities that the service lists and that were never fetched yet.',
    musette_verified_age_seconds:
      'Seconds since the activity was compared with the service, value by value, whose comparison is the longest ago; +Inf while one never was.',
    musette_scrub_differences:
      'Activities that comparisons of the last 30 days found different, without any sign of it before.',
  },
  'account state': {
    musette_activities: 'Activities by state; absent: in the mirror, no longer at the service.',
    musette_uploads: 'Files in the ledger by state.',
  },
  code: {
    musette_drop_folder_waiting:
      'Files in the drop folder that wait for a person, and what is wrong with the folder, by code; 1,000 at most.',
  },
  'webhook state': {
    musette_webhook_messages:
      'Messages of the webhooks by state: open, delivered and dropped of the last week, given_up of the last 90 days.',
  },
  '': {
    musette_samples_bytes: 'Bytes on disk of the table training.samples with its index.',
    musette_database_bytes: 'Bytes on disk of the whole database.',
    musette_export_age_seconds:
      'Seconds since the daemon last exported the whole history; no line while it never did.',
    musette_heartbeat_age_seconds:
      'Seconds since the monitor of MUSETTE_HEARTBEAT_URL was last told that all is in order; no line while it never was.',
    musette_mqtt_connected:
      'Whether a process is connected to the MQTT broker (1) or not (0); no line without MUSETTE_MQTT_URL.',
    musette_backup_age_seconds:
      'Seconds since the last scheduled backup was complete; no line while there is none.',
    musette_backup_seconds:
      'Seconds that the last complete scheduled backup took; no line while there is none.',
    musette_backup_bytes: 'Size of the last complete scheduled backup; no line while there is none.',
    musette_backup_failed:
      'Whether the newest scheduled backup that ended failed (1) or not (0); no line while there is none.',
    musette_backup_verified_age_seconds:
      'Seconds since a scheduled backup was restored and compared, row for row; no line while there is none.',
    musette_backup_verify_failed:
      'Whether the newest comparison of a scheduled backup failed (1) or not (0); no line while there is none.',
  },
  'queue state': {
    musette_queue_jobs: 'Jobs by queue and state; completed and failed are those still kept.',
  },
  queue: {
    musette_queue_paused:
      'Whether a queue is paused (1) or not (0); a daemon that runs resumes it within a minute.',
  },
} as const

type NamesOf<Helps> = Helps extends unknown ? keyof Helps : never
type Name = NamesOf<(typeof GAUGES)[keyof typeof GAUGES]>
/** Sets a gauge; an unknown value has no line. */
type SetGauge = (
  name: Name,
  value: number | boolean | null,
  labels?: Readonly<Record<string, string>>,
) => void

/** Makes the gauges whose values are read at each scrape; `musette_up` says which part does not answer. */
export function makeGauges(registry: Registry): (snapshot: HealthSnapshot, now: Date) => void {
  const gauges = new Map<string, Gauge>()
  const forgetValues: Array<() => void> = []
  for (const [labels, helps] of Object.entries(GAUGES))
    for (const [name, help] of Object.entries(helps)) {
      const gauge = new Gauge({
        registers: [registry],
        name,
        help,
        labelNames: labels.split(' ').filter(Boolean),
      })
      gauges.set(name, gauge)
      // `reset` would set a gauge without labels to 0 instead of unknown.
      forgetValues.push(() => (labels ? gauge.reset() : gauge.remove()))
    }
  const set: SetGauge = (name, value, labels = {}) => {
    if (value !== null) gauges.get(name)?.set(labels, Number(value))
  }
  return ({ database, queue }, now) => {
    for (const forget of forgetValues) forget()
    set('musette_up', database !== undefined, { part: 'database' })
    set('musette_up', queue !== undefined, { part: 'queue' })
    for (const account of database?.accounts ?? []) setAccount(set, account, now)
    if (database) setCounts(set, database.counts, now)
    if (!queue) return
    for (const [name, states] of Object.entries(queue.jobs)) {
      set('musette_queue_paused', queue.paused.includes(name), { queue: name })
      for (const [state, count] of Object.entries(states))
        set('musette_queue_jobs', count, { queue: name, state })
    }
  }
}

function setAccount(set: SetGauge, { account, ...health }: AccountHealth, now: Date): void {
  const of = { account }
  const polled = secondsBetween(health.polled_at, now)
  set('musette_account_freshness_seconds', polled ?? Number.POSITIVE_INFINITY, of)
  set('musette_account_needs_login', health.needs_login, of)
  if (health.token_obtained_at === null) return
  set('musette_token_age_seconds', secondsBetween(health.token_obtained_at, now), of)
  set('musette_token_expires_seconds', secondsBetween(now, health.token_expires_at), of)
  set('musette_token_refresh_failures', health.refresh_failures, of)
  set('musette_token_refused_seconds', secondsBetween(health.refused_since, now) ?? 0, of)
}

function setCounts(set: SetGauge, counts: HealthCounts, now: Date): void {
  const { backup, backupVerified } = counts
  for (const { count, ...of } of counts.activities) set('musette_activities', count, of)
  for (const { count, ...of } of counts.neverFetched) set('musette_backfill_to_go', count, of)
  for (const { account, since, unverified, differed } of counts.verified) {
    const age = unverified > 0 ? Number.POSITIVE_INFINITY : secondsBetween(since, now)
    set('musette_verified_age_seconds', age, { account })
    set('musette_scrub_differences', differed, { account })
  }
  for (const { count, ...of } of counts.uploads) set('musette_uploads', count, of)
  for (const code of WAITING_CODES) set('musette_drop_folder_waiting', 0, { code })
  for (const { count, ...of } of counts.waitingFiles) set('musette_drop_folder_waiting', count, of)
  for (const { count, ...of } of counts.messages) set('musette_webhook_messages', count, of)
  set('musette_samples_bytes', counts.samplesBytes)
  set('musette_database_bytes', counts.databaseBytes)
  set('musette_export_age_seconds', secondsBetween(counts.exportedAt, now))
  set('musette_heartbeat_age_seconds', secondsBetween(counts.heartbeatAt, now))
  set('musette_mqtt_connected', counts.mqttConnected)
  set('musette_backup_age_seconds', secondsBetween(backup.doneAt, now))
  set('musette_backup_seconds', backup.seconds)
  set('musette_backup_bytes', backup.bytes)
  set('musette_backup_failed', hasFailed(backup.outcome))
  set('musette_backup_verified_age_seconds', secondsBetween(backupVerified.doneAt, now))
  set('musette_backup_verify_failed', hasFailed(backupVerified.outcome))
}

function hasFailed(outcome: string | null): boolean | null {
  return outcome === null ? null : outcome !== 'done'
}

function secondsBetween(from: Date | null, to: Date | null): number | null {
  return from && to && (to.getTime() - from.getTime()) / 1000
}
