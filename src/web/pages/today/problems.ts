import { describeLoginProblem, type Status } from '../../../app/status-report.ts'
import { commandFor } from '../../../kit/errors.ts'
import { DAY, formatDuration } from '../../../kit/time.ts'
import { findAccountHealth } from '../../../store/health.ts'
import type { Tx } from '../../../store/store.ts'

/** A refused file is shown on top for so long; afterwards the list of uploads still has it. */
const REFUSED_SHOWN_MS = 7 * DAY

/** A problem as a sentence, with the command to type if any. `calm`: it passes without help, or is past. */
type ProblemView = {
  text: string
  command: string | null
  calm?: boolean
  /** the account whose home time zone solves it, which the browser may offer */
  home_of?: string
}

type Refusable = { account: string; file_name: string; state: string; reason: string | null; seen_at: Date }

type Input = { status: Status; uploads: readonly Refusable[]; freshMs: number; now: Date }

/** Lists the problems, most urgent first, each with its command if any. */
export function makeProblems({ status, uploads, freshMs, now }: Input): ProblemView[] {
  const several = status.accounts.length > 1
  const ofAccount = (name: string) => (several ? ` of account “${name}”` : '')
  const found: ProblemView[] = []
  for (const account of status.accounts) {
    const { account: name, login_code: login, polled_at: polledAt, failed } = account
    const lateMs = polledAt ? now.getTime() - polledAt.getTime() : 0
    // What is wrong with a login stands on every page, see findLoginProblem.
    if (login === null && lateMs > freshMs)
      found.push({
        text: `The mirror${ofAccount(name)} is stale: the last good poll was ${formatDuration(lateMs)} ago${reasonOf(account)}. To see why, type:`,
        command: 'musette doctor',
      })
    else if (login === null && account.last_run?.outcome === 'failed')
      found.push({
        text: `The last run${ofAccount(name)} failed${reasonOf(account)}. It is tried again by itself; to see more, type:`,
        command: 'musette doctor',
        calm: true,
      })
    if (account.reconcile_error !== null)
      found.push({
        text: `The last comparison of whole lists${ofAccount(name)} changed nothing: ${account.reconcile_error}`,
        command: null,
      })
    if (account.timezone_note !== null)
      found.push({
        text: `Days${ofAccount(name)} are not all yours: ${account.timezone_note}. To set the time zone of your home, type:`,
        command: account.timezone_command,
        calm: true,
        home_of: name,
      })
    if (failed > 0)
      found.push({
        text: `${failed === 1 ? 'An activity' : `${failed} activities`}${ofAccount(name)} could not be fetched, and will be tried again by themselves; the list is below. To try now, type:`,
        command: commandFor('sync', name),
        calm: true,
      })
  }
  const since = now.getTime() - REFUSED_SHOWN_MS
  const refused = uploads.filter(({ state, seen_at }) => state === 'refused' && seen_at.getTime() > since)
  if (refused[0])
    found.push({
      text: `${refused.length === 1 ? `The file ${refused[0].file_name}${ofAccount(refused[0].account)} was refused` : `${refused.length} files were refused, the last one ${refused[0].file_name}${ofAccount(refused[0].account)}`}: ${(refused[0].reason ?? 'the service gave no reason').replace(/\.$/, '')}. The file lies in failed/ with the reason beside it.`,
      command: null,
      calm: true,
    })
  for (const { setting, found: text, run, unused } of status.shared_folders)
    found.push({ text: `${setting}: ${text}. Type:`, command: run, calm: !unused })
  if (status.backup?.problem)
    found.push({ text: `Backups: ${status.backup.problem}. Type:`, command: 'musette doctor' })
  const late = status.webhooks.filter(({ given_up, gone_at }) => given_up > 0 || gone_at !== null)
  for (const { webhook } of late)
    found.push({
      text: `Messages to the webhook “${webhook}” were not delivered. To try it, type:`,
      command: `musette webhook test ${webhook}`,
    })
  return found
}

/** Finds the first account whose login needs a person, as the problem that every page shows; undefined when none does. */
export async function findLoginProblem(tx: Tx): Promise<ProblemView | undefined> {
  for (const health of await findAccountHealth(tx)) {
    const wrong = describeLoginProblem(health)
    const text = `Account “${health.account}” ${wrong?.found}. What is mirrored stays; nothing new comes until you type:`
    if (wrong) return { text, command: wrong.run }
  }
  return undefined
}

function reasonOf({ last_run: run, last_error: error }: Status['accounts'][number]): string {
  const reason = run?.error ?? error
  return reason === null || reason === undefined ? '' : ` (${reason})`
}
