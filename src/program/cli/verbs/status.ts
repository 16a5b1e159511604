import { formatCount, quoteName, toLine } from '../../../kit/text.ts'
import { formatDuration, formatMoment, SECOND } from '../../../kit/time.ts'
import { withRemedy } from '../../app/remedy.ts'
import { type Context, noteUnreadableLogins } from '../../frame/context.ts'
import type { Status } from '../../frame/findings/status-report.ts'
import { KEYED, SIGNED_IN } from '../../frame/help-of-verbs.ts'
import { printTable } from '../../frame/output.ts'
import { defineVerb, flag, option } from '../../frame/verb.ts'

export const statusVerb = defineVerb({
  name: 'status',
  description: 'show logins, mirrored activities, waiting files, uploads and failures',
  options: {
    only: option('--account <name>', 'only this account'),
    json: flag('--json', 'as one JSON object'),
  },
  help: { settings: [...KEYED, 'REDIS_URL'], exits: SIGNED_IN, examples: ['musette status'] },
  needs: 'reading',
  async run({ app, ...context }, { only, json }): Promise<undefined> {
    const { accountNamed } = await import('../../app/local-app.ts')
    const { makeFacts } = await import('../../frame/findings/facts.ts')
    const { findStatus } = await import('../../frame/findings/status-report.ts')
    const account = only === undefined ? undefined : await accountNamed(app, only)
    const keyProblem = await noteUnreadableLogins(context, app, account?.accountId)
    const all = { ...app, features: context.features }
    const report = await findStatus(all, makeFacts(all, new Date(), account?.accountId))
    const { findings, in_order: _, features, ...state } = report
    if (json) context.printJson({ ...state, ...features, key_problem: keyProblem ?? null, findings })
    else printStatus(context, report)
  },
})

function printStatus(context: Pick<Context, 'print'>, status: Status): void {
  context.print(`database: ${status.database}, queue: ${status.queue}`)
  context.print(`identity: ${status.identity}, line: ${status.line}`)
  for (const account of status.accounts) {
    context.print('')
    context.print(`account "${account.account}" at ${account.base_url}: ${account.login}`)
    if (account.last_error) context.print(`  last error: ${account.last_error}`)
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
    if (account.list_cap !== null)
      context.print(
        `  the service truncates its lists at ${account.list_cap} entries, so musette lists shorter periods`,
      )
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
    for (const { path, reason } of status.waiting_files)
      context.print(`  ${quoteName(path)}: ${toLine(reason)}`)
  }
  for (const { check, found } of status.in_order) context.print(`\n${check}: ${found}`)
  if (status.failed_activities.length > 0) {
    context.print('\nactivities that failed; musette fetches them again by itself:')
    printTable(context, status.failed_activities)
  }
  if (status.findings.length === 0) return
  context.print('\nto look at:')
  for (const { found, run } of status.findings)
    context.print(`  ${withRemedy(found, { run: run ?? undefined })}`)
}

function verifiedOf({ verified, mirrored, verified_since, differed }: Status['accounts'][number]): string {
  const since = verified_since ? `, all since ${formatMoment(new Date(verified_since))}` : ''
  const changed =
    differed > 0 ? `; ${formatCount(differed)} differed in the last 30 days and are recorded` : ''
  return `${formatCount(verified)} of ${formatCount(mirrored)} compared with the service, value by value${since}${changed}`
}

function toGoOf(account: Status['accounts'][number]): string {
  const { activities, wanted, fetched_per_minute: rate, seconds_to_go: seconds } = account
  const share = `${formatCount(activities - wanted)} of ${formatCount(activities)} are here`
  if (rate === null || seconds === null) return `${share}; nothing was fetched in the last few minutes`
  return `${share}; ${formatCount(Math.round(rate))} a minute, ${formatDuration(seconds * SECOND)} to go`
}
