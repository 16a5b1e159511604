import type { Config } from '../config/config.ts'
import { commandFor, errorLine } from '../kit/errors.ts'
import { formatCount } from '../kit/text.ts'
import { formatDuration, HOUR } from '../kit/time.ts'
import {
  type AccountStatus,
  findAccountStatuses,
  findFailedActivities,
  findUploadCounts,
} from '../store/account-status.ts'
import { findIdentity } from '../store/database-facts.ts'
import { findPublisherState, type PublisherState } from '../store/feed/mqtt-publisher.ts'
import { findWholeWorkState } from '../store/runs.ts'
import type { Tx } from '../store/store.ts'
import { findWaitingFiles } from '../store/uploads/waiting-files.ts'
import { findWebhookStates } from '../store/webhooks/known-webhooks.ts'
import type { App } from './app.ts'

/** What `findStatus` returns, which says what each member is. */
export type Status = Awaited<ReturnType<typeof findStatus>>

/** Refused tokens are reported after this time; most outages are shorter. */
const REFUSED_WARNING_MS = HOUR

/** Describes the fault of an account's login, with the next command; undefined without one. */
export function describeLoginProblem({
  account,
  needs_login,
  refused_since,
  other_rider,
}: Pick<AccountStatus, 'account' | 'needs_login' | 'refused_since' | 'other_rider'>) {
  const run = commandFor('login', account)
  if (other_rider)
    return { code: 'other_rider', found: 'is signed in as another rider than that of its activities', run }
  if (needs_login) return { code: 'needs_login', found: 'needs a login', run }
  const refusedMs = refused_since ? Date.now() - refused_since.getTime() : 0
  if (refusedMs < REFUSED_WARNING_MS) return undefined
  const found = `gets tokens that the service refuses, for ${formatDuration(refusedMs)}; the next attempt comes by itself`
  return { code: 'token_refused', found, run: commandFor('sync', account) }
}

const NEVER_CONNECTED: PublisherState = { connected: false, published_at: null, problem: null }

/** The age, in poll intervals, up to which a poll is fresh: a poll may be late because it waits for the service. */
const FRESH_INTERVALS = 3

/** Returns the age of the last good poll, ms, at which an account is late. */
export function freshMs(config: Pick<Config, 'mirror'>): number {
  return FRESH_INTERVALS * config.mirror.pollEveryMs
}

/** The most failed activities in the report; the row of each account has their count. */
const FAILED_SHOWN = 20

/** Finds the state of accounts, activities, uploads and waiting files, with the next command where a person must act. */
export async function findStatus(app: Pick<App, 'config' | 'store'>) {
  const { identity, statuses, failed, uploads, waiting, backup, heartbeat, mqtt, webhooks } =
    await app.store.read(async (tx) => ({
      identity: await findIdentity(tx),
      statuses: await findAccountStatuses(tx),
      failed: await findFailedActivities(tx, { limit: FAILED_SHOWN }),
      uploads: await findUploadCounts(tx),
      waiting: await findWaitingFiles(tx),
      backup: await findBackupStatus(tx, app.config, new Date()),
      heartbeat: await findHeartbeatStatus(tx, app.config, new Date()),
      mqtt: app.config.mqtt ? ((await findPublisherState(tx)) ?? NEVER_CONNECTED) : null,
      webhooks: app.config.webhooks ? await findWebhookStates(tx) : [],
    }))
  const { readSharedFolders } = await import('./report/shared-folders.ts')
  const shared = await readSharedFolders(app.config, identity)
  return {
    database: app.config.databaseUrl ? ('postgres' as const) : ('embedded' as const),
    /** which database it is, see the table training.database */
    identity: identity.identity,
    line: identity.line,
    queue: app.config.redisUrl ? ('redis' as const) : ('postgres' as const),
    accounts: statuses.map((status) => ({
      ...status,
      login: status.needs_login ? ('needs login' as const) : ('signed in' as const),
      /** why the login needs a look: other_rider, needs_login, token_refused; null when nothing is wrong */
      login_code: describeLoginProblem(status)?.code ?? null,
      next_command: describeLoginProblem(status)?.run ?? null,
      /** a sentence when days of the account are in UTC; null when all time zones are known */
      timezone_note: describeUtcDays(status),
      /** the command that sets the time zone of its home */
      timezone_command: homeCommandFor(status.account),
    })),
    failed_activities: failed,
    uploads,
    /** files that wait in the drop folder without a row in the ledger, and problems of the folder itself */
    waiting_files: waiting,
    /** folders of the settings that another database uses, as far as this machine sees them */
    // The process that watches the drop folder says it of that one already.
    shared_folders: shared.filter(({ dir }) => !waiting.some(({ path }) => path === dir)),
    /** null when no scheduled backups are configured */
    backup,
    /** null without a monitor */
    heartbeat,
    /** null when MUSETTE_MQTT_URL is not set */
    mqtt,
    /** the receivers of messages, as the daemon knows them; none when MUSETTE_WEBHOOKS is not set */
    webhooks,
  }
}

/** Says that days of an account are in UTC, as a phrase; null when all time zones are known. */
export function describeUtcDays({
  without_timezone: count,
}: Pick<AccountStatus, 'without_timezone'>): string | null {
  if (count === 0) return null
  const activities = count === 1 ? '1 activity has' : `${formatCount(count)} activities have`
  return `${activities} the days and hours of UTC, because neither the service nor a position tells the time zone`
}

/** Returns the command that sets the time zone of an account's home. */
export function homeCommandFor(account: string): string {
  return `musette accounts set ${account} --timezone ZONE`
}

/**
 * Finds the state of scheduled backups by the present files; null when none are configured. It is a problem when the newest is older than
 * two intervals, when all were removed, or when one could not be restored. `done_at`, `bytes` and `file` belong to the last complete one,
 * `verified_at` is the last verification. `problem` is the reason for a person, `code` the code of a failure.
 */
export async function findBackupStatus(
  tx: Tx,
  { backup: { dir, everyMs } }: Pick<Config, 'backup'>,
  now: Date,
) {
  if (dir === undefined) return null
  const { doneAt: recordedAt, outcome, error, errorCode: code } = await findWholeWorkState(tx, 'backup')
  const { readNewestBackup, VERIFY_EVERY_MS } = await import('../backup/backup-folder.ts')
  const { line, lineBeganAt } = await findIdentity(tx)
  const found = await readNewestBackup({ dir, line }).catch((reason: unknown) => errorLine(reason))
  if (typeof found === 'string') return { ...NO_BACKUP, dir, problem: found, code: 'backup_file' }
  const { doneAt, bytes, path } = found ?? { doneAt: null, bytes: null, path: null }
  const verified = await findWholeWorkState(tx, 'backup-verify')
  const verifiedAgeMs = verified.doneAt ? now.getTime() - verified.doneAt.getTime() : 0
  // Those of before a restore have another name.
  const isGone = recordedAt !== null && recordedAt > lineBeganAt && !found
  const gone = `the folder holds no backup of this database, although one was made at ${recordedAt?.toISOString()}: it was removed, or this machine does not see the folder`
  const ageMs = doneAt ? now.getTime() - doneAt.getTime() : 0
  const late = `the last backup is ${formatDuration(ageMs)} old, and one is due every ${formatDuration(everyMs)}`
  const failed = `the last backup failed (${error ?? outcome})`
  const isFailed = outcome === 'failed' || outcome === 'abandoned'
  const state = { dir, done_at: doneAt, bytes, file: path, verified_at: verified.doneAt }
  const made = isFailed ? failed : isGone ? gone : ageMs > 2 * everyMs ? late : null
  if (made !== null) return { ...state, problem: made, code: isFailed ? code : null }
  const unproved =
    verified.outcome === 'failed'
      ? `the last backup that was to be restored and compared could not be (${verified.error})`
      : verifiedAgeMs > 3 * VERIFY_EVERY_MS
        ? `no backup was restored and compared for ${formatDuration(verifiedAgeMs)}, and one is due every week`
        : null
  return { ...state, problem: unproved, code: unproved && UNPROVED }
}

const NO_BACKUP = { done_at: null, bytes: null, file: null, verified_at: null }
/** The code of backups that are made but not verified. */
export const UNPROVED = 'backup_unproved'

/**
 * Finds when the monitor was last told that all is in order, and why a person should look, by the runs of the heartbeat; null when
 * MUSETTE_HEARTBEAT_URL is not set. One that is older than three rounds is a problem, and so is one that the monitor did not take.
 */
export async function findHeartbeatStatus(
  tx: Tx,
  config: Pick<Config, 'heartbeatUrl' | 'mirror'>,
  now: Date,
) {
  if (config.heartbeatUrl === undefined) return null
  const { doneAt, outcome, error } = await findWholeWorkState(tx, 'heartbeat')
  const ageMs = doneAt ? now.getTime() - doneAt.getTime() : 0
  const late = `the last one is ${formatDuration(ageMs)} old, and one is due every ${formatDuration(config.mirror.pollEveryMs)}`
  const wrong: Record<string, string> = {
    failed: error ?? 'the last one failed',
    partial: 'the monitor was told that something is not in order; the log says what',
  }
  return { done_at: doneAt, problem: wrong[outcome ?? ''] ?? (ageMs > freshMs(config) ? late : null) }
}
