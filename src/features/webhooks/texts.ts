import type { Json } from '../../core/store/schema/schemas.ts'
import { commandFor } from '../../kit/errors.ts'
import { quoteText, toLine } from '../../kit/text.ts'
import { formatDuration, SECOND } from '../../kit/time.ts'
import type { MessageData } from './message-request.ts'
import type { Digest, ReadyActivity, Recalculation } from './news.ts'
import type { WebhookEvent } from './settings.ts'

/** The content of a message, the same for all webhooks. */
type Content = Readonly<{ event: WebhookEvent; at: Date; data: MessageData }>

/** Maximum length of a reason, in characters, so that it fits into a notification. */
const LONGEST_REASON = 300

/** Formats the message about a newly mirrored activity, with its scores and the changes of the signature. */
export function formatActivity(activity: ReadyActivity): Content {
  const { account, name, xss, elapsed_s: elapsed } = activity
  const parts = [
    ...(elapsed === null ? [] : [formatDuration(elapsed * SECOND)]),
    ...(xss === null ? [] : [`XSS ${Math.round(xss)}`]),
    ...signatureChanges(activity),
  ]
  const text = parts.length > 0 ? parts.join(', ') : 'mirrored'
  const data = makeData(account, `New activity${nameOf(name, ': ')}`, text, factsOf(activity))
  return { event: 'activity.new', at: activity.ready_at, data }
}

/** Formats the message about a breakthrough or a medal; returns undefined for any other activity. */
export function formatBreakthrough(activity: ReadyActivity): Content | undefined {
  const { account, name, medal, breakthrough } = activity
  const isBreakthrough = breakthrough !== null && breakthrough > 0
  if (!isBreakthrough && (medal === null || medal <= 0)) return undefined
  const changes = signatureChanges(activity)
  const text = `The new activity${nameOf(name, ' ')}${changes.length > 0 ? `: ${changes.join(', ')}` : ''}`
  const title = isBreakthrough ? 'A breakthrough' : 'A medal'
  const data = makeData(account, title, text, factsOf(activity))
  return { event: 'breakthrough', at: activity.ready_at, data }
}

/** Formats the message about a refused file; `files` is more than 1 if several files share the message. */
export function formatRefused(
  account: string,
  at: Date,
  facts: { files: number; file_name: string | null; content_id: string | null; reason: string | null },
): Content {
  const { files, file_name, reason } = facts
  const text =
    file_name === null
      ? `${files} more files were refused; run: musette status`
      : `The file ${quoteText(file_name)}: ${toLine(reason ?? 'no reason is known', LONGEST_REASON)}`
  const title = files > 1 ? 'Files were refused' : 'A file was refused'
  return { event: 'upload.refused', at, data: makeData(account, title, text, facts) }
}

/** Formats the message that an account needs a login, with the command to run. */
export function formatLoginLost(account: string, at: Date, reason: string | null): Content {
  const command = commandFor('login', account)
  const why = reason === null ? '' : ` (${toLine(reason, LONGEST_REASON)})`
  // If the service refused the login for a day, the reason already contains the command.
  const run = why.includes(command) ? '' : `; run: ${command}`
  const text = `Nothing is mirrored or uploaded until you sign in again${why}${run}`
  return { event: 'login.lost', at, data: makeData(account, 'The login is lost', text, { reason, command }) }
}

/** Formats the message that the database has a new line, with the number of the last unchanged entry of the change feed. */
export function formatRestored(
  at: Date,
  facts: {
    up_to: number | null
    cause: string | null
    backup_made_at: string | null
    identity: string | null
    line: string | null
  },
): Content {
  const of = facts.backup_made_at === null ? '' : ` of ${facts.backup_made_at}`
  const restored = `was restored from the backup${of}`
  const what =
    (facts.cause ?? 'backup') === 'backup' ? restored : 'continues on another server or from an earlier time'
  const text = `The database ${what}; musette fetches later changes from the service by itself`
  return { event: 'mirror.restored', at, data: makeData(null, 'The mirror was restored', text, facts) }
}

/** Formats the message about a digest; returns undefined if too few scores changed for a recalculation. */
export function formatDigest(digest: Digest, recalculation: Recalculation | undefined): Content | undefined {
  const { account, event, count, last_at: at } = digest
  if (event === 'upload.refused')
    return formatRefused(account, at, { files: count, file_name: null, content_id: null, reason: null })
  if (event === 'history.mirrored') {
    const text = count === 1 ? '1 activity was mirrored' : `${count} activities were mirrored`
    return { event, at, data: makeData(account, 'The history is mirrored', text, { activities: count }) }
  }
  if (!recalculation) return undefined
  const { activities, first_day, last_day, xss_change } = recalculation
  const change =
    xss_change === null ? '' : `, XSS ${xss_change < 0 ? '' : '+'}${Math.round(xss_change)} in all`
  const text = `The scores of ${activities} activities from ${first_day} to ${last_day} changed${change}`
  const data = makeData(account, 'The history was recalculated', text, { ...recalculation })
  return { event: 'history.recalculated', at, data }
}

/** A lasting fault: an account that is not polled, or missing backups. */
export type Condition = Readonly<{
  kind: 'mirror' | 'backup'
  /** null for the whole database */
  account: Readonly<{ accountId: number; name: string }> | null
  /** `unknown` changes nothing */
  state: 'wrong' | 'well' | 'unknown'
  /** the fault, and the command that fixes the fault or helps to find its cause */
  sentence: string
  run: string | undefined
}>

const CONDITIONS = {
  mirror: {
    wrong: ['mirror.stale', 'The mirror is stale'],
    well: ['mirror.recovered', 'The mirror is up to date again', 'The service is polled again'],
  },
  backup: {
    wrong: ['backup.failed', 'The backup failed'],
    well: ['backup.recovered', 'Backups are made again', 'The last backup is complete'],
  },
} as const

/** Formats the message that a fault began or ended. */
export function formatCondition(
  { kind, account, sentence, run }: Condition,
  state: 'wrong' | 'well',
  at: Date,
) {
  const fault = `${toLine(sentence, LONGEST_REASON)}${run === undefined ? '' : `; run: ${run}`}`
  const [event, title, text = fault] = CONDITIONS[kind][state]
  return { event, at, data: makeData(account?.name ?? null, title, text, {}) }
}

function makeData(
  account: string | null,
  title: string,
  text: string,
  facts: { readonly [member: string]: Json },
): MessageData {
  // The only account needs no name.
  const whose = account === null || account === 'default' ? '' : `${account}: `
  return { title: `${whose}${title}`, text, ...(account !== null && { account }), ...facts }
}

/** Returns an activity's quoted name after `between`; an empty text if the activity has no visible name. */
function nameOf(name: string | null, between: string): string {
  return name === null || toLine(name) === '' ? '' : `${between}${quoteText(name)}`
}

function signatureChanges(activity: ReadyActivity): string[] {
  const { sig_ftp, prev_sig_ftp, sig_pp, prev_sig_pp } = activity
  return [...changeOf('FTP', prev_sig_ftp, sig_ftp), ...changeOf('PP', prev_sig_pp, sig_pp)]
}

/** Describes a change of a value in watts; returns nothing if the rounded values are equal. */
function changeOf(what: string, before: number | null, after: number | null): string[] {
  if (before === null || after === null || Math.round(before) === Math.round(after)) return []
  return [`${what} ${Math.round(before)} → ${Math.round(after)} W`]
}

function factsOf(activity: ReadyActivity): { readonly [member: string]: Json } {
  const {
    account_id: _id,
    account: _account,
    ready_at: _at,
    seen_together: _together,
    started_at,
    ...facts
  } = activity
  return { ...facts, started_at: started_at?.toISOString() ?? null }
}
