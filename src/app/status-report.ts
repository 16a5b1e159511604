import type { PublisherState } from '../features/mqtt/mqtt-publisher.ts'
import { findFailedActivities, findUploadCounts } from '../store/account-status.ts'
import type { App } from './app.ts'
import { collectFindings } from './findings/collect-findings.ts'
import { type Facts, makeFacts } from './findings/facts.ts'
import { commandOf, type Finding } from './findings/finding.ts'

/** What `findStatus` returns, which says what each member is. */
export type Status = Awaited<ReturnType<typeof findStatus>>

const NEVER_CONNECTED: PublisherState = { connected: false, published_at: null, problem: null }

const FEATURES: ReadonlySet<string> = new Set(['export', 'backups', 'webhooks', 'heartbeat', 'mqtt'])

/** The most failed activities in the report; the row of each account has their count. */
const FAILED_SHOWN = 20

/** Finds the state of accounts, activities, uploads and waiting files, and what is wrong. `facts` are those of now. */
export async function findStatus(app: Pick<App, 'config' | 'store'>, facts = makeFacts(app, new Date())) {
  const { config, store } = app
  const { identity, line } = await facts.identity()
  const waiting = await facts.waiting()
  const shared = await facts.shared()
  const all = await collectFindings(facts, { place: 'status' })
  const findings = all.filter(({ state }) => state !== 'ok')
  const loginOf = (name: string) =>
    findings.find(({ check, account }) => check === 'login' && account === name)
  const problemOf = (check: string) =>
    findings.find((finding) => finding.check === check && finding.state === 'problem')
  const zoneOf = (name: string) =>
    findings.find(({ code, account }) => code === 'days_of_utc' && account === name)
  return {
    database: config.databaseUrl ? ('postgres' as const) : ('embedded' as const),
    /** which database it is, see the table training.database */
    identity,
    line,
    queue: config.redisUrl ? ('redis' as const) : ('postgres' as const),
    accounts: (await facts.statuses()).map((status) => ({
      ...status,
      login: status.needs_login ? ('needs login' as const) : ('signed in' as const),
      /** why the login needs a look: other_rider, needs_login, token_refused; null when nothing is wrong */
      login_code: loginOf(status.account)?.code ?? null,
      next_command: loginOf(status.account)?.run ?? null,
      /** that days of the account are those of UTC; null when all time zones are known */
      timezone_note: zoneOf(status.account)?.found ?? null,
      /** the command that sets the time zone of its home */
      timezone_command: commandOf('days_of_utc', { NAME: status.account }) ?? '',
    })),
    failed_activities: await store.read((tx) => findFailedActivities(tx, { limit: FAILED_SHOWN })),
    uploads: await store.read(findUploadCounts),
    /** files that wait in the drop folder without a row in the ledger, and problems of the folder itself */
    waiting_files: waiting,
    /** folders of the settings that another database uses, as far as this machine sees them */
    // The process that watches the drop folder says it of that one already.
    shared_folders: shared.filter(({ dir }) => !waiting.some(({ path }) => path === dir)),
    /** the last complete scheduled backup that lies in the folder now, and when one was last restored and compared; null when none are configured */
    backup: makeBackupStatus(await facts.backups(), problemOf('backups')),
    /** null when no monitor is told whether all is in order */
    heartbeat:
      config.heartbeatUrl === undefined
        ? null
        : { done_at: (await facts.heartbeat()).doneAt, problem: problemOf('heartbeat')?.found ?? null },
    /** null when MUSETTE_MQTT_URL is not set */
    mqtt: config.mqtt ? ((await facts.mqtt()) ?? NEVER_CONNECTED) : null,
    /** the receivers of messages, as the daemon knows them; none when MUSETTE_WEBHOOKS is not set */
    webhooks: config.webhooks ? await facts.webhooks() : [],
    /** what works by the settings, in sentences for a person */
    in_order: all.filter(({ check, state }) => state === 'ok' && FEATURES.has(check)),
    /** what a person should look at, each with the command that mends it or leads on */
    findings: findings.map(({ code, state, account, found, run, since }) => ({
      ...{ code, severity: state, account: account ?? null, found, run: run ?? null, since: since ?? null },
    })),
  }
}

function makeBackupStatus(backups: Awaited<ReturnType<Facts['backups']>>, finding: Finding | undefined) {
  if (!backups) return null
  const { dir, newest, unreadable, made, verified } = backups
  const failure = unreadable === undefined ? made.errorCode : 'backup_file'
  const unproved = finding?.code === 'backup_unproved' ? finding.code : null
  return {
    ...{ dir, done_at: newest?.doneAt ?? null, bytes: newest?.bytes ?? null, file: newest?.path ?? null },
    verified_at: verified.doneAt,
    problem: finding?.found ?? null,
    code: /^backup_(failed|disk_full)$/.test(finding?.code ?? '') ? failure : unproved,
  }
}
