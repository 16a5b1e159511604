import {
  type AccountVerb,
  ConfigError,
  CredentialsRejectedError,
  commandFor,
  errorLine,
  RateLimitedError,
  TransientError,
} from '../../kit/errors.ts'
import { quoteShell } from '../../kit/text.ts'
import { DAY, MINUTE } from '../../kit/time.ts'
import { type Remedy, withRemedy } from '../remedy.ts'

/** Whose trouble a problem is; it decides the exit code of the doctor. */
export type ProblemKind = 'configuration' | 'unreachable' | 'credentials' | 'unexpected'

/** Where a finding is shown: `header` is that of every page; `ready` makes `/readyz` unready; `message` goes to webhooks. */
export type Place = 'doctor' | 'status' | 'page' | 'header' | 'ready' | 'heartbeat' | 'message'

type Rule = Readonly<{
  /** the query that finds it */
  source: string
  /** a problem of this kind; `warning` works and needs a look; `calm` passes by itself, or is past */
  severity: ProblemKind | 'warning' | 'calm'
  shown: readonly Place[]
  /** its command, see `commandOf` */
  run: string
}>

const SHOWN = 'doctor status page'
const SIGNED_OUT = 'doctor status header heartbeat message'
const SAID = 'doctor status page heartbeat message'
const BACK_UP = 'musette backup DIR/by-hand.tar'
const EXPORT = 'musette export --all --format parquet --to DIR'

/**
 * What can be wrong by the database and the folders: the query that finds it, its severity, where it is shown, and the command that mends it or
 * leads on. The doctor adds what only its probes find.
 */
export const FINDINGS = {
  no_account: makeRule('logins', 'credentials', 'doctor status heartbeat', 'musette login'),
  other_rider: makeRule('logins', 'credentials', SIGNED_OUT, 'musette login ACCOUNT'),
  needs_login: makeRule('logins', 'credentials', SIGNED_OUT, 'musette login ACCOUNT'),
  token_refused: makeRule('logins', 'warning', 'doctor status header', 'musette sync ACCOUNT'),
  refresh_failed: makeRule('logins', 'warning', 'doctor', 'musette status'),
  token_ended: makeRule('logins', 'warning', 'doctor', 'musette sync ACCOUNT'),
  token_old: makeRule('logins', 'warning', 'doctor', 'musette start'),
  never_polled: makeRule('polls', 'warning', 'doctor ready heartbeat', 'musette sync ACCOUNT'),
  mirror_stale: makeRule('polls', 'warning', `${SAID} ready`, 'musette sync ACCOUNT'),
  run_failed: makeRule('polls', 'calm', 'status page', 'musette sync ACCOUNT'),
  list_not_applied: makeRule('activities', 'warning', SHOWN, ''),
  activities_failed: makeRule('activities', 'calm', SHOWN, 'musette sync ACCOUNT'),
  days_of_utc: makeRule('activities', 'calm', SHOWN, 'musette accounts set NAME --timezone ZONE'),
  activities_not_compared: makeRule('comparisons', 'warning', `${SHOWN} heartbeat`, 'musette verify ACCOUNT'),
  accounts_of_one_rider: makeRule('riders', 'warning', 'doctor', 'musette logout NAME'),
  drop_folder_gone: makeRule('waiting', 'warning', 'doctor heartbeat ready', 'musette doctor'),
  file_waits: makeRule('waiting', 'warning', 'doctor heartbeat', 'musette status'),
  file_refused: makeRule('uploads', 'calm', 'page heartbeat message', 'musette status'),
  files_not_uploaded: makeRule('uploads', 'warning', 'doctor page heartbeat', 'musette status'),
  fit_files_outdated: makeRule('fit', 'warning', 'doctor', 'musette rebuild'),
  fit_files_gone: makeRule('fit', 'warning', 'doctor', 'musette upload FILE…'),
  folder_of_another: makeRule('folders', 'configuration', SHOWN, 'rm …/FILE'),
  backups_of_others: makeRule('folders', 'calm', SHOWN, 'export MUSETTE_BACKUP_DIR=DIR'),
  export_missing: makeRule('export', 'warning', 'doctor status', 'musette start'),
  export_failed: makeRule('export', 'unexpected', 'doctor status', EXPORT),
  export_late: makeRule('export', 'warning', 'doctor status', 'musette start'),
  backup_missing: makeRule('backups', 'warning', 'doctor status', 'musette start'),
  backup_failed: makeRule('backups', 'unexpected', SAID, BACK_UP),
  backup_disk_full: makeRule('backups', 'unexpected', SAID, 'df -h DIR'),
  backup_gone: makeRule('backups', 'unexpected', SAID, BACK_UP),
  backup_late: makeRule('backups', 'unexpected', SAID, BACK_UP),
  backup_unproved: makeRule('backups', 'unexpected', SAID, 'musette backup --verify FILE'),
  webhook_new: makeRule('webhooks', 'warning', 'doctor status', 'musette start'),
  webhook_gone: makeRule('webhooks', 'unexpected', SHOWN, 'musette webhook test NAME'),
  messages_given_up: makeRule('webhooks', 'unexpected', SHOWN, 'musette webhook test NAME'),
  messages_late: makeRule('webhooks', 'warning', 'doctor status', 'musette webhook test NAME'),
  heartbeat_missing: makeRule('heartbeat', 'warning', 'doctor status', 'musette start'),
  heartbeat_reported: makeRule('heartbeat', 'unexpected', 'doctor status', ''),
  heartbeat_failed: makeRule('heartbeat', 'unexpected', 'doctor status', 'musette config'),
  heartbeat_late: makeRule('heartbeat', 'unexpected', 'doctor status', 'musette start'),
  mqtt_away: makeRule('mqtt', 'warning', 'doctor status', 'musette start'),
} satisfies Readonly<Record<string, Rule>>

export type FindingCode = keyof typeof FINDINGS

function makeRule(source: string, severity: Rule['severity'], shown: string, run: string): Rule {
  return { source, severity, shown: shown.split(' ') as Place[], run }
}

/** What a command names in place of the words in capitals, and the rest of a finding. `run`: its command, where the table has an example. */
type About = {
  account?: string
  since?: Date | null | undefined
  DIR?: string
  FILE?: string
  NAME?: string
  run?: string
}

/** Returns the command of a finding; undefined where its sentence says what to do. */
export function commandOf(code: FindingCode, { account, run, ...words }: About = {}): string | undefined {
  const template = FINDINGS[code].run
  if (run !== undefined || template === '') return run
  const verb = /^musette (.*) ACCOUNT$/.exec(template)?.[1]
  if (verb !== undefined) return commandFor(verb as AccountVerb, account ?? '')
  return template.replace(/DIR|FILE|NAME/, (word) => {
    const value = words[word as 'DIR' | 'FILE' | 'NAME']
    return value === undefined ? word : quoteShell(value)
  })
}

/** One thing that was looked at, as a phrase for a person, and the command that mends it or leads on. */
export type Finding = Readonly<{
  found: string
  run?: string
  /** undefined for what is in order, and for what only the doctor looks at */
  code?: FindingCode
  account?: string
  since?: Date
}> &
  Readonly<
    // `left_out` could not be looked at; `found` is why
    { state: 'ok' | 'calm' | 'warning' | 'left_out' } | { state: 'problem'; kind: ProblemKind }
  >

/** Makes a finding of the table. */
export function makeFinding(code: FindingCode, found: string, about: About = {}): Finding {
  const { severity } = FINDINGS[code]
  const { account, since } = about
  const run = commandOf(code, about)
  const isProblem = severity !== 'calm' && severity !== 'warning'
  return {
    ...(isProblem ? problem(severity, found, run) : { ...ok(found, run), state: severity }),
    ...{ code, ...(account !== undefined && { account }), ...(since && { since }) },
  }
}

/** Makes a finding that nothing is wrong. */
export function ok(found: string, run?: string): Finding {
  return { state: 'ok', found, ...(run !== undefined && { run }) }
}

/** Makes a finding of what works and should still be looked at. */
export function warning(found: string, run?: string): Finding {
  return { ...ok(found, run), state: 'warning' }
}

/** Makes a finding of what does not work. */
export function problem(kind: ProblemKind, found: string, run?: string): Finding {
  return { state: 'problem', kind, found, ...(run !== undefined && { run }) }
}

/** Makes the finding of a check that could not be made, and why. */
export function leftOut(reason: string): Finding {
  return { state: 'left_out', found: reason }
}

/** Turns an error into the finding of a problem, by its kind; without a remedy its sentence says what to do. */
export function problemOf(error: unknown, { hint, run }: Remedy = {}): Finding {
  return problem(kindOf(error), withRemedy(errorLine(error), { hint }), run)
}

function kindOf(error: unknown): ProblemKind {
  if (error instanceof CredentialsRejectedError) return 'credentials'
  if (error instanceof ConfigError) return 'configuration'
  return error instanceof TransientError || error instanceof RateLimitedError ? 'unreachable' : 'unexpected'
}

/** A daemon that has just started makes up for what was missed while it was down. */
const MADE_UP = ['polls', 'backups']
const SETTLED_AFTER_MS = 10 * MINUTE
/** The heartbeat says for a day what is past. */
const PAST_AFTER_MS = 1 * DAY

type DaemonTimes = Readonly<{ startedAt: Date; now: Date }>

/** Tells whether a finding may soon be over by itself in a daemon that began at `startedAt`, so that nothing is known yet. */
export function isOpen({ code }: Finding, { startedAt, now }: DaemonTimes): boolean {
  if (code === undefined || !MADE_UP.includes(FINDINGS[code].source)) return false
  return code === 'never_polled' || now.getTime() - startedAt.getTime() <= SETTLED_AFTER_MS
}

/** Tells whether a daemon that began at `startedAt` says a finding elsewhere, by heartbeat and messages. */
export function isSaid(finding: Finding, times: DaemonTimes): boolean {
  const { code, state, since } = finding
  if (code === undefined || isOpen(finding, times)) return false
  return state !== 'calm' || !since || times.now.getTime() - since.getTime() <= PAST_AFTER_MS
}
