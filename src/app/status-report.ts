import type { Config } from '../config/config.ts'
import { commandFor } from '../kit/errors.ts'
import {
  type AccountStatus,
  type FailedActivity,
  findAccountStatuses,
  findFailedActivities,
  findUploadCounts,
  type UploadCounts,
} from '../store/account-status.ts'
import { findWaitingFiles, type WaitingFile } from '../store/uploads/waiting-files.ts'
import type { App } from './app.ts'

export type Status = {
  database: 'embedded' | 'postgres'
  queue: 'postgres' | 'redis'
  accounts: Array<AccountStatus & { login: 'signed in' | 'needs login'; next_command: string | null }>
  failed_activities: FailedActivity[]
  uploads: UploadCounts[]
  /** files that wait in the drop folder without a row in the ledger, and problems of the folder itself */
  waiting_files: WaitingFile[]
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
  const { statuses, failed, uploads, waiting } = await app.store.read(async (tx) => ({
    statuses: await findAccountStatuses(tx),
    failed: await findFailedActivities(tx, { limit: FAILED_SHOWN }),
    uploads: await findUploadCounts(tx),
    waiting: await findWaitingFiles(tx),
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
  }
}
