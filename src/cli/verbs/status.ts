import type { Status } from '../../app/status-report.ts'
import { formatCount } from '../../kit/text.ts'
import { formatDuration, formatMoment, SECOND } from '../../kit/time.ts'
import { type Context, noteUnreadableLogins } from '../context.ts'
import { printTable } from '../output.ts'
import { defineVerb, flag } from '../verb.ts'

export const addStatusVerb = defineVerb({
  name: 'status',
  description: 'show logins, mirrored activities, waiting files, uploads and failures',
  options: { json: flag('--json', 'as one JSON object') },
  needs: 'database',
  async run({ app, ...context }, { json }): Promise<undefined> {
    const { findStatus } = await import('../../app/status-report.ts')
    const keyProblem = await noteUnreadableLogins(context, app)
    const report = await findStatus(app)
    if (json) context.printJson({ ...report, key_problem: keyProblem ?? null })
    else printStatus(context, report)
  },
})

function printStatus(context: Pick<Context, 'print'>, status: Status): void {
  context.print(`database: ${status.database}, queue: ${status.queue}`)
  context.print(`identity: ${status.identity}, line: ${status.line}`)
  if (status.accounts.length === 0) context.print('no accounts yet; run: musette login')
  for (const account of status.accounts) {
    context.print('')
    context.print(`account "${account.account}" at ${account.base_url}: ${account.login}`)
    if (account.last_error) context.print(`  last error: ${account.last_error}`)
    if (account.next_command) context.print(`  run: ${account.next_command}`)
    context.print(
      `  ${formatCount(account.activities)} activities, ${formatCount(account.mirrored)} mirrored, ${formatCount(account.wanted)} to fetch, ` +
        `${formatCount(account.awaiting_samples)} without samples yet, ${formatCount(account.failed)} failed, ` +
        `${formatCount(account.absent)} no longer at the service`,
    )
    if (account.wanted > 0) context.print(`  ${toGoOf(account)}`)
    context.print(
      `  ${formatCount(account.samples)} samples; newest activity ${account.newest_activity_at ? formatMoment(account.newest_activity_at) : 'none'}`,
    )
    if (account.verified > 0) context.print(`  ${verifiedOf(account)}`)
    if (account.timezone_note) context.print(`  ${account.timezone_note}; run: ${account.timezone_command}`)
    if (account.list_cap !== null)
      context.print(
        `  the service cuts its lists at ${account.list_cap} entries; musette lists shorter periods`,
      )
    if (account.reconcile_error) context.print(`  last reconcile failed: ${account.reconcile_error}`)
    if (account.last_run) {
      const { kind, outcome, started_at, error } = account.last_run
      context.print(
        `  last run: ${kind} ${outcome}, started ${formatMoment(new Date(started_at))}${error ? `: ${error}` : ''}`,
      )
    }
  }
  if (status.uploads.length > 0) {
    context.print('\nfiles of the drop folder:')
    printTable(context, status.uploads)
  }
  if (status.waiting_files.length > 0) {
    context.print('\nwaiting in the drop folder:')
    for (const { path, reason } of status.waiting_files) context.print(`  ${path}: ${reason}`)
  }
  if (status.shared_folders.length > 0) {
    context.print('\nfolders that another database uses:')
    for (const { setting, found, run } of status.shared_folders)
      context.print(`  ${setting}: ${found}; run: ${run}`)
  }
  if (status.backup) context.print(`\n${backupSentence(status.backup)}`)
  if (status.heartbeat) context.print(`\n${heartbeatSentence(status.heartbeat)}`)
  if (status.mqtt) context.print(`\n${mqttSentence(status.mqtt)}`)
  if (status.webhooks.length > 0) context.print('\nwebhooks:')
  for (const webhook of status.webhooks) context.print(`  ${webhookSentence(webhook)}`)
  if (status.failed_activities.length === 0) return
  context.print('\nactivities that failed; musette fetches them again by itself:')
  printTable(context, status.failed_activities)
}

function verifiedOf({ verified, mirrored, verified_since, differed }: Status['accounts'][number]): string {
  const since = verified_since ? `, all since ${formatMoment(new Date(verified_since))}` : ''
  const changed =
    differed > 0 ? `; ${formatCount(differed)} differed in the last 30 days and are recorded` : ''
  return `${formatCount(verified)} of ${formatCount(mirrored)} compared with the service, value by value${since}${changed}`
}

function backupSentence({ dir, done_at, verified_at, problem }: NonNullable<Status['backup']>): string {
  const last = done_at ? `last one made at ${formatMoment(done_at)}` : 'none yet'
  const proved = verified_at ? `, one restored and compared at ${formatMoment(verified_at)}` : ''
  return `backups in ${dir}: ${last}${proved}${problem ? `; ${problem}; run: musette doctor` : ''}`
}

function heartbeatSentence({ done_at, problem }: NonNullable<Status['heartbeat']>): string {
  const last = done_at ? `all was in order at ${formatMoment(done_at)}` : 'none taken yet'
  return `heartbeat: ${last}${problem ? `; ${problem}; run: musette doctor` : ''}`
}

function mqttSentence({ connected, published_at, problem }: NonNullable<Status['mqtt']>): string {
  const last = published_at
    ? `last change published at ${formatMoment(published_at)}`
    : 'nothing published yet'
  const state = connected ? 'connected' : (problem ?? 'no daemon is connected')
  return `mqtt: ${state}; ${last}${connected ? '' : '; run: musette doctor'}`
}

function webhookSentence(webhook: Status['webhooks'][number]): string {
  const { open, open_since, given_up, delivered_at, last_error, gone_at } = webhook
  const parts = [
    delivered_at ? `last message delivered at ${formatMoment(delivered_at)}` : 'no message delivered yet',
    ...(open > 0
      ? [`${open} not delivered yet, the oldest of ${open_since ? formatMoment(open_since) : 'now'}`]
      : []),
    ...(given_up > 0 ? [`${given_up} given up in the last week`] : []),
    ...(last_error === null ? [] : [`last error: ${last_error}`]),
    ...(gone_at ? ['the receiver answered 410 Gone and gets no more messages'] : []),
  ]
  const command = open > 0 || given_up > 0 ? `; run: musette webhook test ${webhook.webhook}` : ''
  return `${webhook.webhook}: ${parts.join('; ')}${command}`
}

function toGoOf(account: Status['accounts'][number]): string {
  const { activities, wanted, fetched_per_minute: rate, seconds_to_go: seconds } = account
  const share = `${formatCount(activities - wanted)} of ${formatCount(activities)} are here`
  if (rate === null || seconds === null) return `${share}; nothing was fetched in the last minutes`
  return `${share}; ${formatCount(Math.round(rate))} a minute, ${formatDuration(seconds * SECOND)} to go`
}
