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
  /** what waits in the drop folder without a row in the ledger, or is wrong with the folder */
  waiting_files: WaitingFile[]
}

/** A poll may be late by a run that waits for the service; more than this many intervals late is not fresh. */
const FRESH_INTERVALS = 3

/** How old the last good poll of an account may be, ms, before it counts as late. */
export function freshMs(config: Pick<Config, 'mirror'>): number {
  return FRESH_INTERVALS * config.mirror.pollEveryMs
}

/** Named failures are for reading, not for counting: the count stands in each account's row. */
const FAILED_SHOWN = 20

/** Finds where everything stands, with the command that mends what a person must mend. */
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
