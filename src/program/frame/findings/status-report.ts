import { findFailedActivities, findUploadCounts } from '../../../core/store/account-status.ts'
import { collectFindings } from './collect-findings.ts'
import { TIMEZONE_RULE } from './core-sources.ts'
import { type FactsApp, makeFacts } from './facts.ts'
import { commandOf } from './finding.ts'

/** The result of `findStatus`, where each member is described. */
export type Status = Awaited<ReturnType<typeof findStatus>>

/** The most failed activities in the report; the row of each account has their count. */
const FAILED_SHOWN = 20

/**
 * Finds the state of accounts, activities, uploads and waiting files, and the current problems. `facts` read the current state and select
 * the accounts.
 */
export async function findStatus(app: FactsApp, facts = makeFacts(app, new Date())) {
  const { config, store } = app
  const { accountId } = facts
  const { identity, line } = await facts.identity()
  const waiting = await facts.waiting()
  const shared = await facts.shared()
  const states = await facts.states()
  const all = await collectFindings(facts, { place: 'status' })
  const findings = all.filter(({ state }) => state !== 'ok')
  // The first finding of each account. Searching the list for each of 10,000 accounts took ten seconds.
  const firstOf = (isOf: (finding: (typeof findings)[number]) => boolean) =>
    new Map(
      findings
        .filter(isOf)
        .toReversed()
        .map((finding) => [finding.account, finding]),
    )
  const logins = firstOf(({ check }) => check === 'login')
  const zones = firstOf(({ rule }) => rule === TIMEZONE_RULE)
  const problemOf = (check: string) =>
    findings.find((finding) => finding.check === check && finding.state === 'problem')
  return {
    database: config.databaseUrl ? ('postgres' as const) : ('embedded' as const),
    /** which database it is, see the table training.database */
    identity,
    line,
    queue: config.redisUrl ? ('redis' as const) : ('postgres' as const),
    accounts: (await facts.statuses()).map((status) => ({
      ...status,
      login: status.needs_login ? ('needs login' as const) : ('signed in' as const),
      /** what is wrong with the login: other_rider, needs_login, token_refused; null if nothing is wrong */
      login_code: logins.get(status.account)?.rule?.code ?? null,
      next_command: logins.get(status.account)?.run ?? null,
      /** the finding that days of the account are days of UTC; null if all time zones are known */
      timezone_note: zones.get(status.account)?.found ?? null,
      /** the command that sets the time zone of the account's home */
      timezone_command: commandOf(TIMEZONE_RULE, { NAME: status.account }) ?? '',
    })),
    failed_activities: await store.read((tx) => findFailedActivities(tx, FAILED_SHOWN, accountId)),
    uploads: await store.read((tx) => findUploadCounts(tx, accountId)),
    /** files in the drop folder without a row in the ledger, and problems of the folder itself */
    waiting_files: waiting,
    /** folders of the settings that another database uses, as far as this machine can see */
    // If the drop folder belongs to another database, the waiting files already say so.
    shared_folders: shared
      .filter(({ dir }) => !waiting.some(({ path }) => path === dir))
      // `unused` is false if only some files in the folder belong to others.
      .map(({ setting, rule, ...folder }) => ({ setting, unused: rule === undefined, ...folder })),
    /** the state of each feature, by its name in the report */
    features: Object.fromEntries(
      await Promise.all(
        states
          .flatMap(({ check, status }) => (status ? [{ check, ...status }] : []))
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .map(async ({ check, name, find }) => [name, await find(facts, problemOf(check))] as const),
      ),
    ),
    /** what works in the features, in sentences for a person */
    in_order: all.filter(({ check, state }) => state === 'ok' && states.some((each) => each.check === check)),
    /** what a person should check, each with the command that fixes the problem or helps to find its cause */
    findings: findings.map(({ rule, state, account, found, run, since }) => ({
      ...{ code: rule?.code, severity: state, account: account ?? null, found },
      ...{ run: run ?? null, since: since ?? null },
    })),
  }
}
