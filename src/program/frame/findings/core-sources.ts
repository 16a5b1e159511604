import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { findSharedRiders } from '../../../core/store/account-status.ts'
import type { ServerRisk } from '../../../core/store/database-facts.ts'
import { findUploadProblems } from '../../../core/store/uploads/uploads.ts'
import { NOT_TAKEN } from '../../../core/store/uploads/waiting-files.ts'
import { countOf, formatBytes, formatCount, quoteName, quoteShell } from '../../../kit/text.ts'
import { formatAge, formatDuration, HOUR } from '../../../kit/time.ts'
import { type Facts, freshMs, type Source } from './facts.ts'
import { type Finding, makeFinding, makeRules, ok, type Rule } from './finding.ts'

const SHOWN = 'doctor status page'
const SIGNED_OUT = 'doctor status header heartbeat message'

const SERVER = makeRules({
  slot_keeps_wal: ['warning', 'doctor heartbeat', ''],
  order_of_texts_changed: ['warning', 'doctor heartbeat', ''],
  wraparound_near: ['warning', 'doctor heartbeat', ''],
})
const LOGINS = makeRules({
  no_account: ['credentials', 'doctor status heartbeat', 'musette login'],
  other_rider: ['credentials', SIGNED_OUT, 'musette login ACCOUNT'],
  needs_login: ['credentials', SIGNED_OUT, 'musette login ACCOUNT'],
  token_refused: ['warning', 'doctor status header', 'musette sync ACCOUNT'],
  refresh_failed: ['warning', 'doctor', 'musette status'],
  token_ended: ['warning', 'doctor', 'musette sync ACCOUNT'],
  token_old: ['warning', 'doctor', 'musette start'],
})
const POLLS = {
  ...makeRules({ never_polled: ['warning', 'doctor ready heartbeat', 'musette sync ACCOUNT'] }, 'until over'),
  ...makeRules(
    {
      mirror_stale: ['warning', 'doctor status page heartbeat message ready', 'musette sync ACCOUNT'],
      run_failed: ['calm', 'status page', 'musette sync ACCOUNT'],
    },
    'after a start',
  ),
}
const ACTIVITIES = makeRules({
  list_not_applied: ['warning', SHOWN, ''],
  entries_unreadable: ['warning', SHOWN, ''],
  activities_failed: ['calm', SHOWN, 'musette sync ACCOUNT'],
  days_of_utc: ['calm', SHOWN, 'musette accounts set NAME --timezone ZONE'],
})
const COMPARISONS = makeRules({
  activities_not_compared: ['warning', `${SHOWN} heartbeat`, 'musette verify ACCOUNT'],
})
const RIDERS = makeRules({ accounts_of_one_rider: ['warning', 'doctor', 'musette logout NAME'] })
const WAITING = makeRules({
  drop_folder_gone: ['warning', 'doctor heartbeat ready', 'musette doctor'],
  file_waits: ['warning', 'doctor heartbeat', 'musette status'],
})
const UPLOADS = makeRules({
  file_refused: ['calm', 'page heartbeat message', 'musette status'],
  files_not_uploaded: ['warning', 'doctor page heartbeat', 'musette status'],
})
const FIT_FILES = makeRules({
  fit_files_outdated: ['warning', 'doctor', 'musette rebuild'],
  fit_files_gone: ['warning', 'doctor', 'musette upload FILE…'],
})
const FOLDERS = makeRules({
  folder_of_another: ['configuration', SHOWN, 'rm …/FILE'],
})

/** The rule with the command that sets the time zone of an account's home. */
export const TIMEZONE_RULE = ACTIVITIES.days_of_utc

/** The core's sources of findings, in the order of the doctor's checks. */
export const CORE_SOURCES: readonly Source[] = [
  { check: 'database', rules: SERVER, judge: judgeServer },
  { check: 'login', rules: LOGINS, judge: judgeLogins },
  { check: 'mirror', rules: POLLS, judge: judgePolls },
  { check: 'mirror', rules: ACTIVITIES, judge: judgeActivities },
  { check: 'mirror', rules: COMPARISONS, judge: judgeComparisons },
  { check: 'mirror', rules: RIDERS, judge: judgeRiders },
  { check: 'waiting files', rules: WAITING, judge: judgeWaiting },
  { check: 'waiting files', rules: UPLOADS, judge: judgeUploads },
  { check: 'fit files', rules: FIT_FILES, judge: judgeFitFiles },
  { check: 'shared folders', rules: FOLDERS, judge: judgeFolders },
]

/** Returns a function that makes findings about an account; their sentences begin with the account. */
function aboutAccount(account: string) {
  return (rule: Rule | 'ok', found: string, since?: Date | null): Finding => {
    const sentence = `account "${account}" ${found}`
    return rule === 'ok'
      ? { ...ok(sentence), account }
      : makeFinding(rule, sentence, { account, since, NAME: account })
  }
}

const RISKS: Readonly<Record<ServerRisk['code'], (name: string, size: number) => string>> = {
  slot_keeps_wal: (name, size) =>
    `the replication slot ${name} keeps ${formatBytes(size)} of WAL for a late reader, and the disk may become full; if nothing needs the slot, drop it`,
  wraparound_near: (name, size) =>
    `the oldest unfrozen transaction of the database ${name} is ${formatCount(size)} transactions back, and at 2,100,000,000 Postgres refuses writes; end old transactions and drop old slots first`,
  order_of_texts_changed: (name) =>
    `the collation changed since the indexes of ${name} were built, as after an upgrade of the operating system, so queries may miss rows`,
}

async function judgeServer({ risks }: Facts): Promise<Finding[]> {
  return (await risks()).flatMap(({ code, name, size, is_due: isDue, statements, may }) => {
    const found = RISKS[code](name, size)
    const run = statements.map((each) => `musette sql --write ${quoteShell(each)}`).join(' && ')
    const later = `${found}; let an administrator of ${name} type: ${statements.join('; ')}`
    return isDue ? makeFinding(SERVER[code], may ? found : later, may ? { run } : {}) : []
  })
}

export const NO_ACCOUNT = makeFinding(LOGINS.no_account, 'there is no account yet')
/** How long the service may refuse tokens before musette reports a finding, ms; most outages are shorter. */
const REFUSED_AFTER_MS = HOUR
/** The share of a token's lifetime after which no daemon refreshes it. A daemon refreshes a token at six tenths at the latest. */
const REFRESHED_BY = 0.7

async function judgeLogins({ health, now }: Facts): Promise<Finding[]> {
  const accounts = await health()
  if (accounts.length === 0) return [NO_ACCOUNT]
  return accounts.map((login) => {
    const { token_obtained_at: obtainedAt, token_expires_at: expiresAt, refused_since: since } = login
    const of = aboutAccount(login.account)
    if (login.other_rider)
      return of(LOGINS.other_rider, 'has activities of one rider but is signed in as another')
    const isRefresh = Boolean(login.refresh_failures)
    const age = since && formatAge(since, now)
    if (login.needs_login || !obtainedAt || !expiresAt) {
      const isUsable = since && isRefresh && expiresAt && expiresAt > now
      const rest = isUsable
        ? `the service has refused new tokens for ${age}; the present one ends in ${formatDuration(expiresAt.getTime() - now.getTime())}`
        : 'nothing new is mirrored until then'
      return of(LOGINS.needs_login, `needs a login; ${rest}`)
    }
    if (since && now.getTime() - since.getTime() >= REFUSED_AFTER_MS) {
      const what = isRefresh ? 'has been refused new tokens' : 'gets tokens that the service refuses,'
      return of(LOGINS.token_refused, `${what} for ${age}; musette tries again by itself`, since)
    }
    if (login.refresh_failures) {
      const next = login.refresh_not_before?.toISOString()
      const rest = next === undefined ? '' : `; the next attempt comes after ${next}`
      return of(LOGINS.refresh_failed, `has ${login.refresh_failures} failed refreshes in a row${rest}`)
    }
    const oldMs = now.getTime() - obtainedAt.getTime()
    const left = expiresAt.getTime() - now.getTime()
    if (left <= 0)
      return of(
        LOGINS.token_ended,
        `has a token that ended ${formatDuration(-left)} ago; the next sync refreshes it`,
      )
    const found = `is signed in; its token is ${formatDuration(oldMs)} old and ends in ${formatDuration(left)}`
    return oldMs > REFRESHED_BY * (oldMs + left)
      ? of(LOGINS.token_old, `${found}, so no daemon renews it`)
      : of('ok', found)
  })
}

/**
 * A mirror is stale after three intervals without a successful poll. Leaves out accounts that need a login, because the login is a separate
 * finding.
 */
async function judgePolls({ health, config, now }: Facts): Promise<Finding[]> {
  const signedIn = (await health()).filter(({ needs_login }) => !needs_login)
  return signedIn.flatMap(({ account, polled_at: polledAt, created_at: createdAt, last_run: run }) => {
    const of = aboutAccount(account)
    const since = polledAt ?? createdAt
    const reason = run?.error ? ` (${run.error})` : ''
    if (now.getTime() - since.getTime() > freshMs(config))
      return of(POLLS.mirror_stale, `had no successful poll for ${formatAge(since, now)}${reason}`, since)
    if (!polledAt) return of(POLLS.never_polled, `has not been polled yet${reason}`, since)
    const polled = of('ok', `was polled ${formatAge(polledAt, now)} ago`)
    if (run?.outcome !== 'failed') return polled
    return [polled, of(POLLS.run_failed, `had a run that failed${reason}; musette tries again by itself`)]
  })
}

async function judgeActivities({ statuses }: Facts): Promise<Finding[]> {
  return (await statuses()).flatMap((status) => {
    const { mirrored, activities, failed, reconcile_error: error, without_timezone: utc } = status
    const { unreadable_entries: unreadable } = status
    const of = aboutAccount(status.account)
    const found = [of('ok', `has ${mirrored} of ${countOf(activities, 'activity', 'activities')} here`)]
    if (error !== null)
      found.push(
        of(
          ACTIVITIES.list_not_applied,
          `was compared with the whole list, but nothing was changed: ${error}`,
        ),
      )
    if (unreadable !== null)
      found.push(of(ACTIVITIES.entries_unreadable, `has unreadable entries in its list: ${unreadable}`))
    if (failed > 0) {
      const again = 'musette tries again by itself'
      const what = `${countOf(failed, 'activity', 'activities')} that could not be fetched`
      found.push(of(ACTIVITIES.activities_failed, `has ${what}; ${again}`))
    }
    if (utc > 0) {
      const why = 'because neither the service nor a position tells the time zone'
      const what = `${countOf(utc, 'activity', 'activities')} with days and hours in UTC`
      found.push(of(ACTIVITIES.days_of_utc, `has ${what}, ${why}`))
    }
    return found
  })
}

async function judgeComparisons({ uncompared }: Facts): Promise<Finding[]> {
  return (await uncompared()).map(({ account, failed }) => {
    const what = countOf(failed, 'activity', 'activities')
    const found = `has ${what} that could not be compared with the service in the last day`
    return aboutAccount(account)(COMPARISONS.activities_not_compared, found)
  })
}

async function judgeRiders({ health, read }: Facts): Promise<Finding[]> {
  const shared = (await health()).length > 1 ? await read(findSharedRiders) : []
  return shared.map((accounts) => {
    const names = accounts.map((name) => `"${name}"`).join(' and ')
    const found = `the accounts ${names} have the same activities: they belong to one rider, whose rides count twice in the views, and a file may be uploaded for both`
    return makeFinding(RIDERS.accounts_of_one_rider, found, { NAME: accounts.at(-1) ?? '' })
  })
}

/** Maximum number of waiting files that the findings name; `musette status` names all files. */
const MAX_NAMED = 5

async function judgeWaiting({ waiting }: Facts): Promise<Finding[]> {
  const files = (await waiting()).filter(({ code }) => code !== NOT_TAKEN)
  const found = files
    .slice(0, MAX_NAMED)
    .map(({ path, reason, code, waiting_since: since }) =>
      code === 'vanished'
        ? makeFinding(WAITING.drop_folder_gone, reason, { since })
        : makeFinding(WAITING.file_waits, `${quoteName(path)} waits: ${reason}`, { since }),
    )
  if (files.length > MAX_NAMED)
    found.push(makeFinding(WAITING.file_waits, `${files.length - MAX_NAMED} more wait`))
  return found.length > 0 ? found : [ok('no file in the drop folder waits for a person')]
}

async function judgeUploads({ read, now, accountId }: Facts): Promise<Finding[]> {
  const { last, stuck } = await read((tx) => findUploadProblems(tx, now, accountId))
  const found: Finding[] = []
  if (last) {
    const file = `${quoteName(last.file_name)} of account "${last.account}"`
    const others = last.refused > 1 ? `, the last of ${last.refused} in a week,` : ''
    const reason = (last.reason ?? 'the service gave no reason').replace(/\.$/, '')
    const sentence = `the file ${file}${others} was refused: ${reason}; the reason lies beside it in failed/`
    found.push(makeFinding(UPLOADS.file_refused, sentence, { account: last.account, since: last.seen_at }))
  }
  const late = `${countOf(stuck, 'file is', 'files are')} still not uploaded after hours`
  if (stuck > 0) found.push(makeFinding(UPLOADS.files_not_uploaded, late))
  return found
}

async function judgeFitFiles({ read, config }: Facts): Promise<Finding[]> {
  const { findOutdatedFit } = await import('../../../core/store/uploads/kept-fit.ts')
  const { kept, gone } = await read(findOutdatedFit)
  const filesOf = (count: number) => `an earlier version read ${countOf(count, 'FIT file', 'FIT files')}`
  const missing = 'so fit_records and fit_messages lack them'
  const found: Finding[] = []
  if (kept > 0) found.push(makeFinding(FIT_FILES.fit_files_outdated, `${filesOf(kept)}, ${missing}`))
  if (gone > 0) {
    const lost = `${filesOf(gone)} whose bytes are not kept, ${missing}`
    const done = join(config.drop.dir, 'done')
    const isThere = (await readdir(done).catch(() => [])).length > 0
    const run = `musette upload ${quoteShell(done)}/*`
    const again = `${lost}; a second upload reads the files and does not send them`
    found.push(makeFinding(FIT_FILES.fit_files_gone, again, isThere ? { run } : {}))
  }
  return found.length > 0 ? found : [ok('all FIT files were read by this version')]
}

async function judgeFolders({ shared }: Facts): Promise<Finding[]> {
  const found = (await shared()).map(({ setting, found, run, rule = FOLDERS.folder_of_another }) =>
    makeFinding(rule, `${setting}: ${found}`, { run }),
  )
  return found.length > 0 ? found : [ok('no other database uses the folders of this one')]
}
