import type { Config } from '../config/config.ts'
import { commandFor } from '../kit/errors.ts'
import { formatDuration } from '../kit/time.ts'
import {
  type AccountStatus,
  type FailedActivity,
  findAccountStatuses,
  findFailedActivities,
  findUploadCounts,
  type UploadCounts,
} from '../store/account-status.ts'
import { findWholeWorkState } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { findWaitingFiles, type WaitingFile } from '../store/uploads/waiting-files.ts'
import { findWebhookStates, type WebhookState } from '../store/webhooks/known-webhooks.ts'
import type { App } from './app.ts'

export type Status = {
  database: 'embedded' | 'postgres'
  queue: 'postgres' | 'redis'
  accounts: Array<AccountStatus & { login: 'signed in' | 'needs login'; next_command: string | null }>
  failed_activities: FailedActivity[]
  uploads: UploadCounts[]
  /** files that wait in the drop folder without a row in the ledger, and problems of the folder itself */
  waiting_files: WaitingFile[]
  /** null when no scheduled backups are configured */
  backup: BackupStatus | null
  /** the receivers of messages, as the daemon knows them; none when MUSETTE_WEBHOOKS is not set */
  webhooks: WebhookState[]
}

/** The age, in poll intervals, up to which a poll is fresh: a poll may be late because it waits for the service. */
const FRESH_INTERVALS = 3

/** Returns the age of the last good poll, ms, from which an account counts as late. */
export function freshMs(config: Pick<Config, 'mirror'>): number {
  return FRESH_INTERVALS * config.mirror.pollEveryMs
}

/** The most failed activities in the report; the row of each account has their count. */
const FAILED_SHOWN = 20

/** Finds the state of accounts, activities, uploads and waiting files, with the next command where a person must act. */
export async function findStatus(app: Pick<App, 'config' | 'store'>): Promise<Status> {
  const { statuses, failed, uploads, waiting, backup, webhooks } = await app.store.read(async (tx) => ({
    statuses: await findAccountStatuses(tx),
    failed: await findFailedActivities(tx, { limit: FAILED_SHOWN }),
    uploads: await findUploadCounts(tx),
    waiting: await findWaitingFiles(tx),
    backup: await findBackupStatus(tx, app.config, new Date()),
    webhooks: app.config.webhooks ? await findWebhookStates(tx) : [],
  }))
  return {
    database: app.config.databaseUrl ? 'postgres' : 'embedded',
    queue: app.config.redisUrl ? 'redis' : 'postgres',
    accounts: statuses.map((status) => ({
      ...status,
      login: status.needs_login ? 'needs login' : 'signed in',
      next_command: status.needs_login ? commandFor('login', status.account) : null,
    })),
    failed_activities: failed,
    uploads,
    waiting_files: waiting,
    backup,
    webhooks,
  }
}

/** The state of the scheduled backups. */
export type BackupStatus = {
  dir: string
  /** when the last complete one was made, and its size */
  done_at: Date | null
  bytes: number | null
  /** why a person should look; null when nothing is wrong */
  problem: string | null
}

/** Finds the state of scheduled backups; null when none are configured. One that is older than two intervals is a problem. */
export async function findBackupStatus(
  tx: Tx,
  { backup: { dir, everyMs } }: Pick<Config, 'backup'>,
  now: Date,
): Promise<BackupStatus | null> {
  if (dir === undefined) return null
  const { doneAt, bytes, outcome, error } = await findWholeWorkState(tx, 'backup')
  const ageMs = doneAt ? now.getTime() - doneAt.getTime() : 0
  const late = `the last backup is ${formatDuration(ageMs)} old, and one is due every ${formatDuration(everyMs)}`
  const failed = `the last backup failed (${error ?? outcome})`
  const isFailed = outcome === 'failed' || outcome === 'abandoned'
  return { dir, done_at: doneAt, bytes, problem: isFailed ? failed : ageMs > 2 * everyMs ? late : null }
}
