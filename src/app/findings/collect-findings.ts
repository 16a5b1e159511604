import { backupSettings } from '../../features/backup/settings.ts'
import { countOf, formatBytes } from '../../kit/text.ts'
import { formatAge, formatDuration, HOUR, MINUTE } from '../../kit/time.ts'
import { findSharedRiders } from '../../store/account-status.ts'
import { findUploadProblems } from '../../store/uploads/upload-problems.ts'
import { fitCommand } from '../remedy.ts'
import { type Facts, freshMs } from './facts.ts'
import { FINDINGS, type Finding, type FindingCode, makeFinding, ok, type Place } from './finding.ts'

/** The queries, in the order of the doctor's checks that they are parts of. */
export const SOURCES: Readonly<
  Record<string, { check: string; judge: (facts: Facts) => Promise<readonly Finding[]> }>
> = {
  logins: { check: 'login', judge: judgeLogins },
  polls: { check: 'mirror', judge: judgePolls },
  activities: { check: 'mirror', judge: judgeActivities },
  comparisons: { check: 'mirror', judge: judgeComparisons },
  riders: { check: 'mirror', judge: judgeRiders },
  waiting: { check: 'waiting files', judge: judgeWaiting },
  uploads: { check: 'waiting files', judge: judgeUploads },
  fit: { check: 'fit files', judge: judgeFitFiles },
  folders: { check: 'shared folders', judge: judgeFolders },
  export: { check: 'export', judge: judgeExport },
  backups: { check: 'backups', judge: judgeBackups },
  webhooks: { check: 'webhooks', judge: judgeWebhooks },
  heartbeat: { check: 'heartbeat', judge: judgeHeartbeat },
  mqtt: { check: 'mqtt', judge: judgeMqtt },
}

/**
 * Collects what is wrong, and by `state` also what is in order, in all that a check of the doctor looks at or that is shown at a place;
 * each with the command that mends it or leads on, fitted to where the settings are. Reads no more than that needs.
 */
export async function collectFindings(facts: Facts, choice: { check: string } | { place: Place }) {
  const place = 'place' in choice ? choice.place : 'doctor'
  const used = new Set(
    Object.values(FINDINGS).flatMap((rule) => (rule.shown.includes(place) ? rule.source : [])),
  )
  const found: Array<Finding & { check: string }> = []
  for (const [source, { check, judge }] of Object.entries(SOURCES)) {
    const isChosen = 'check' in choice ? check === choice.check : used.has(source)
    for (const finding of isChosen ? await judge(facts) : []) {
      const { code, run } = finding
      if (code !== undefined && !FINDINGS[code].shown.includes(place)) continue
      found.push({ check, ...finding, ...(run !== undefined && { run: fitCommand(run, facts.config) }) })
    }
  }
  return found
}

/** Makes the findings of an account, whose sentences begin with it. */
function aboutAccount(account: string) {
  return (code: FindingCode | 'ok', found: string, since?: Date | null): Finding => {
    const sentence = `account "${account}" ${found}`
    return code === 'ok'
      ? { ...ok(sentence), account }
      : makeFinding(code, sentence, { account, since, NAME: account })
  }
}

export const NO_ACCOUNT = makeFinding('no_account', 'there is no account yet')
/** From then on tokens that the service refuses are a finding; most outages are shorter. */
const REFUSED_AFTER_MS = HOUR
/** A daemon refreshes a token by six tenths of its life at the latest; above this share of it none does. */
const REFRESHED_BY = 0.7

async function judgeLogins({ health, now }: Facts): Promise<Finding[]> {
  const accounts = await health()
  if (accounts.length === 0) return [NO_ACCOUNT]
  return accounts.map((login) => {
    const { token_obtained_at: obtainedAt, token_expires_at: expiresAt, refused_since: since } = login
    const of = aboutAccount(login.account)
    if (login.other_rider)
      return of('other_rider', 'is signed in as another rider than that of its activities')
    if (login.needs_login || !obtainedAt || !expiresAt)
      return of('needs_login', 'needs a login; nothing new is mirrored until then')
    if (since && now.getTime() - since.getTime() >= REFUSED_AFTER_MS) {
      const next = 'the next attempt comes by itself'
      return of(
        'token_refused',
        `gets tokens that the service refuses, for ${formatAge(since, now)}; ${next}`,
        since,
      )
    }
    if (login.refresh_failures) {
      const next = login.refresh_not_before?.toISOString()
      const rest = next === undefined ? '' : `; the next attempt comes after ${next}`
      return of('refresh_failed', `has ${login.refresh_failures} failed refreshes in a row${rest}`)
    }
    const age = now.getTime() - obtainedAt.getTime()
    const left = expiresAt.getTime() - now.getTime()
    if (left <= 0)
      return of(
        'token_ended',
        `has a token that ended ${formatDuration(-left)} ago; the next sync refreshes it`,
      )
    const found = `is signed in; its token is ${formatDuration(age)} old and ends in ${formatDuration(left)}`
    return age > REFRESHED_BY * (age + left)
      ? of('token_old', `${found}, so no daemon renews it`)
      : of('ok', found)
  })
}

/** A mirror is stale when it had no good poll for three intervals; one that needs a login is not, because that is a finding of its own. */
async function judgePolls({ health, config, now }: Facts): Promise<Finding[]> {
  const signedIn = (await health()).filter(({ needs_login }) => !needs_login)
  return signedIn.flatMap(({ account, polled_at: polledAt, created_at: createdAt, last_run: run }) => {
    const of = aboutAccount(account)
    const since = polledAt ?? createdAt
    const reason = run?.error ? ` (${run.error})` : ''
    if (now.getTime() - since.getTime() > freshMs(config))
      return of('mirror_stale', `had no successful poll for ${formatAge(since, now)}${reason}`, since)
    if (!polledAt) return of('never_polled', `was not polled yet${reason}`, since)
    const polled = of('ok', `was polled ${formatAge(polledAt, now)} ago`)
    if (run?.outcome !== 'failed') return polled
    return [polled, of('run_failed', `had a run that failed${reason}; it is tried again by itself`)]
  })
}

async function judgeActivities({ statuses }: Facts): Promise<Finding[]> {
  return (await statuses()).flatMap((status) => {
    const { mirrored, activities, failed, reconcile_error: error, without_timezone: utc } = status
    const of = aboutAccount(status.account)
    const found = [of('ok', `has ${mirrored} of ${countOf(activities, 'activity', 'activities')} here`)]
    if (error !== null)
      found.push(of('list_not_applied', `was compared with the whole list, which changed nothing: ${error}`))
    if (failed > 0) {
      const again = 'musette tries again by itself'
      const what = `${countOf(failed, 'activity', 'activities')} that could not be fetched`
      found.push(of('activities_failed', `has ${what}; ${again}`))
    }
    if (utc > 0) {
      const why = 'because neither the service nor a position tells the time zone'
      const what = `${countOf(utc, 'activity', 'activities')} with the days and hours of UTC`
      found.push(of('days_of_utc', `has ${what}, ${why}`))
    }
    return found
  })
}

async function judgeComparisons({ uncompared }: Facts): Promise<Finding[]> {
  return (await uncompared()).map(({ account, failed }) => {
    const what = countOf(failed, 'activity', 'activities')
    const found = `has ${what} that could not be compared with the service in the last day`
    return aboutAccount(account)('activities_not_compared', found)
  })
}

async function judgeRiders({ health, read }: Facts): Promise<Finding[]> {
  const shared = (await health()).length > 1 ? await read(findSharedRiders) : []
  return shared.map((accounts) => {
    const names = accounts.map((name) => `"${name}"`).join(' and ')
    const found = `the accounts ${names} have activities in common: they are one rider, whose rides count twice in the views, and each file may be sent for both`
    return makeFinding('accounts_of_one_rider', found, { NAME: accounts.at(-1) ?? '' })
  })
}

/** How many waiting files are named; `musette status` names all. */
const MAX_NAMED = 5

async function judgeWaiting({ waiting }: Facts): Promise<Finding[]> {
  const files = await waiting()
  const found = files
    .slice(0, MAX_NAMED)
    .map(({ path, reason, code, waiting_since: since }) =>
      code === 'vanished'
        ? makeFinding('drop_folder_gone', reason, { since })
        : makeFinding('file_waits', `${path} waits: ${reason}`, { since }),
    )
  if (files.length > MAX_NAMED) found.push(makeFinding('file_waits', `${files.length - MAX_NAMED} more wait`))
  return found.length > 0 ? found : [ok('no file in the drop folder waits for a person')]
}

async function judgeUploads({ read, now }: Facts): Promise<Finding[]> {
  const { last, stuck } = await read((tx) => findUploadProblems(tx, now))
  const found: Finding[] = []
  if (last) {
    const file = `${last.file_name} of account "${last.account}"`
    const others = last.refused > 1 ? `, the last of ${last.refused} in a week,` : ''
    const reason = (last.reason ?? 'the service gave no reason').replace(/\.$/, '')
    const sentence = `the file ${file}${others} was refused: ${reason}; the reason lies beside it in failed/`
    found.push(makeFinding('file_refused', sentence, { account: last.account, since: last.seen_at }))
  }
  if (stuck > 0)
    found.push(
      makeFinding('files_not_uploaded', `${countOf(stuck, 'file is', 'files are')} not uploaded after hours`),
    )
  return found
}

async function judgeFitFiles({ read }: Facts): Promise<Finding[]> {
  const { findOutdatedFit } = await import('../../store/uploads/kept-fit.ts')
  const { kept, gone } = await read(findOutdatedFit)
  const filesOf = (count: number) => `an earlier version read ${countOf(count, 'FIT file', 'FIT files')}`
  const missing = 'so fit_records and fit_messages lack them'
  const found: Finding[] = []
  if (kept > 0) found.push(makeFinding('fit_files_outdated', `${filesOf(kept)}, ${missing}`))
  if (gone > 0) {
    const again = 'files that are given again are read, not sent'
    found.push(
      makeFinding('fit_files_gone', `${filesOf(gone)} whose bytes are not kept, ${missing}; ${again}`),
    )
  }
  return found.length > 0 ? found : [ok('all FIT files were read by this version')]
}

async function judgeFolders({ shared }: Facts): Promise<Finding[]> {
  const found = (await shared()).map(({ setting, found, run, unused }) =>
    makeFinding(unused ? 'folder_of_another' : 'backups_of_others', `${setting}: ${found}`, { run }),
  )
  return found.length > 0 ? found : [ok('no other database uses the folders of this one')]
}

/** Longer than a worker is busy, or a daemon is down for a new version. */
const EXPORT_LATE_MS = 30 * MINUTE

async function judgeExport(facts: Facts): Promise<Finding[]> {
  const { now } = facts
  const { dir, everyMs } = facts.config.export
  if (dir === undefined) return []
  const { doneAt, outcome, error } = await facts.export()
  const ago = doneAt && formatAge(doneAt, now)
  if (outcome === 'failed') {
    const last = ago ? `; it has what was there ${ago} ago` : ''
    const found = `the last export into ${dir} failed (${error ?? 'no reason'})${last}`
    return [makeFinding('export_failed', found, { DIR: dir })]
  }
  if (!doneAt)
    return [makeFinding('export_missing', `nothing was exported into ${dir} yet; a daemon that runs does it`)]
  const found = `${dir}, exported ${ago} ago`
  if (now.getTime() - doneAt.getTime() <= 2 * everyMs + EXPORT_LATE_MS) return [ok(found)]
  const due = `${found}; a daemon that runs does it every ${formatDuration(everyMs)}`
  return [makeFinding('export_late', due, { since: doneAt })]
}

/** The newest backup that is older than two intervals is late, and so is a comparison after three weeks. */
async function judgeBackups(facts: Facts): Promise<Finding[]> {
  const backups = await facts.backups()
  if (!backups) return []
  const { now, config } = facts
  const { dir, newest, unreadable, made, verified, lineBeganAt, verifyEveryMs } = backups
  const since = newest?.doneAt ?? null
  const of = (code: FindingCode, found: string) => [
    makeFinding(code, found, { since, DIR: dir, ...(newest && { FILE: newest.path }) }),
  ]
  if (unreadable !== undefined) return of('backup_failed', unreadable)
  const ageOf = (at: Date | null) => (at ? now.getTime() - at.getTime() : 0)
  const last = newest
    ? `the last one was made ${formatAge(newest.doneAt, now)} ago, ${formatBytes(newest.bytes)}`
    : 'there is none yet'
  if (made.outcome === 'failed' || made.outcome === 'abandoned') {
    const found = `the last backup failed (${made.error ?? made.outcome}); ${last}`
    // Where a disk is full, another backup on it helps nobody.
    return made.errorCode === 'backup_disk_full'
      ? of('backup_disk_full', `${found}; make room`)
      : of('backup_failed', found)
  }
  // Those of before a restore have another name.
  if (made.doneAt && made.doneAt > lineBeganAt && !newest) {
    const why = 'it was removed, or this machine does not see the folder'
    const found = `the folder holds no backup of this database, although one was made at ${made.doneAt.toISOString()}`
    return of('backup_gone', `${found}: ${why}`)
  }
  if (!newest) return of('backup_missing', 'there is no backup yet; a daemon that runs makes one')
  const { everyMs } = backupSettings.of(config)
  if (ageOf(since) > 2 * everyMs) {
    const due = `one is due every ${formatDuration(everyMs)}`
    return of('backup_late', `the last backup is ${formatAge(newest.doneAt, now)} old, and ${due}`)
  }
  if (verified.outcome === 'failed') {
    const found = `the last backup that was to be restored and compared could not be (${verified.error})`
    return of('backup_unproved', `${found}; ${last}`)
  }
  const unprovedMs = ageOf(verified.doneAt)
  if (unprovedMs > 3 * verifyEveryMs) {
    const found = `no backup was restored and compared for ${formatDuration(unprovedMs)}`
    return of('backup_unproved', `${found}, and one is due every week; ${last}`)
  }
  const proved = verified.doneAt
    ? `one was restored and compared ${formatAge(verified.doneAt, now)} ago`
    : undefined
  return [ok(`${dir}: ${last}; ${proved ?? 'none was restored and compared yet'}`)]
}

/** A message that waits for longer is late: by then a receiver that was restarted has been tried again. */
const MESSAGE_LATE_MS = 1 * HOUR

async function judgeWebhooks({ config, webhooks, now }: Facts): Promise<Finding[]> {
  const states = config.webhooks ? await webhooks() : []
  return (config.webhooks?.webhooks ?? []).map(({ name }) => {
    const state = states.find(({ webhook }) => webhook === name)
    const of = (code: FindingCode, found: string, since?: Date) =>
      makeFinding(code, `webhook "${name}": ${found}`, { since, NAME: name })
    if (!state) return of('webhook_new', 'a daemon that runs begins to send messages')
    const { open, open_since: since, given_up: givenUp, gone_at: goneAt, delivered_at: at } = state
    const why = state.last_error === null ? '' : ` (${state.last_error})`
    if (goneAt) return of('webhook_gone', 'the receiver answered 410 Gone and gets no more messages', goneAt)
    if (givenUp > 0) {
      const messages = countOf(givenUp, 'message was', 'messages were')
      return of('messages_given_up', `${messages} given up in the last week${why}`)
    }
    if (since && now.getTime() - since.getTime() > MESSAGE_LATE_MS) {
      const messages = countOf(open, 'message waits', 'messages wait')
      return of('messages_late', `${messages} for up to ${formatAge(since, now)}${why}`, since)
    }
    return ok(
      `webhook "${name}": ${at ? `last message delivered ${formatAge(at, now)} ago` : 'no message yet'}`,
    )
  })
}

async function judgeHeartbeat({ config, heartbeat, now }: Facts): Promise<Finding[]> {
  if (config.heartbeatUrl === undefined) return []
  const { doneAt: since, outcome, error } = await heartbeat()
  const of = (code: FindingCode, found: string) => [makeFinding(code, found, { since })]
  if (outcome === 'failed') return of('heartbeat_failed', error ?? 'the last heartbeat failed')
  if (outcome === 'partial')
    return of(
      'heartbeat_reported',
      'the monitor was told that something is not in order; status and the log say what',
    )
  if (!since) return of('heartbeat_missing', 'no heartbeat was sent yet; a daemon that runs begins')
  const ago = formatAge(since, now)
  if (now.getTime() - since.getTime() <= freshMs(config))
    return [ok(`the monitor heard ${ago} ago that all is in order`)]
  const due = `one is due every ${formatDuration(config.mirror.pollEveryMs)}`
  return of('heartbeat_late', `the last heartbeat is ${ago} old, and ${due}`)
}

async function judgeMqtt({ config, mqtt, now }: Facts): Promise<Finding[]> {
  if (!config.mqtt) return []
  const state = await mqtt()
  if (!state?.connected) {
    const why = state?.problem ? ` (${state.problem})` : ''
    return [makeFinding('mqtt_away', `no daemon is connected to the MQTT broker${why}`)]
  }
  const { published_at: at } = state
  return [
    ok(`the daemon is connected${at ? `; the last change was published ${formatAge(at, now)} ago` : ''}`),
  ]
}
