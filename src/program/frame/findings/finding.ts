import {
  asDiskFull,
  ConfigError,
  CredentialsRejectedError,
  commandFor,
  errorLine,
  RateLimitedError,
  TransientError,
} from '../../../kit/errors.ts'
import { quoteShell, toLine } from '../../../kit/text.ts'
import { DAY, MINUTE } from '../../../kit/time.ts'
import { type Remedy, withRemedy } from '../../app/remedy.ts'

/** Whose trouble a problem is; it decides the exit code of the doctor. */
export type ProblemKind = 'configuration' | 'unreachable' | 'credentials' | 'unexpected'

/** Where a finding is shown: `header` is that of every page; `ready` makes `/readyz` unready; `message` goes to webhooks. */
export type Place = 'doctor' | 'status' | 'page' | 'header' | 'ready' | 'heartbeat' | 'message'

/** What is the same of all findings of one code. */
export type Rule = Readonly<{
  code: string
  /** a problem of this kind; `warning` works and needs a look; `calm` passes by itself, or is past */
  severity: ProblemKind | 'warning' | 'calm'
  shown: readonly Place[]
  /** its command, see `commandOf` */
  run: string
  /** how long a daemon says nothing of it elsewhere: it makes up for what was missed while it was down */
  open?: 'after a start' | 'until over' | undefined
}>

/** Makes rules of a table: code, severity, where shown, and the command that mends it or leads on. */
export function makeRules<Code extends string>(
  rows: Readonly<Record<Code, readonly [severity: Rule['severity'], shown: string, run: string]>>,
  open?: Rule['open'],
): Readonly<Record<Code, Rule>> {
  const rules: Record<string, Rule> = {}
  for (const [code, row] of Object.entries(rows)) {
    const [severity, shown, run] = row as (typeof rows)[Code]
    rules[code] = { code, severity, shown: shown.split(' ') as Place[], run, open }
  }
  return rules as Record<Code, Rule>
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
export function commandOf(rule: Rule, { account, run, ...words }: About = {}): string | undefined {
  const template = rule.run
  if (run !== undefined || template === '') return run
  const verb = /^musette (.*) ACCOUNT$/.exec(template)?.[1]
  if (verb !== undefined) return commandFor(verb, account ?? '')
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const command = template.replace(/DIR|FILE|NAME|ZONE/g, (word) => {
    const value = { ...words, ZONE: timeZone }[word as 'DIR' | 'FILE' | 'NAME' | 'ZONE']
    return value === undefined ? '…' : quoteShell(value)
  })
  // A person types a command as it stands, so one with a placeholder is none.
  return command.includes('…') ? undefined : command
}

/** One thing that was looked at, as a phrase for a person, and the command that mends it or leads on. */
export type Finding = Readonly<{
  found: string
  run?: string
  /** undefined for what is in order, and for what only the doctor looks at */
  rule?: Rule
  account?: string
  since?: Date
}> &
  Readonly<
    // `left_out` could not be looked at; `found` is why
    { state: 'ok' | 'calm' | 'warning' | 'left_out' } | { state: 'problem'; kind: ProblemKind }
  >

export function makeFinding(rule: Rule, found: string, about: About = {}): Finding {
  const { severity } = rule
  const { account, since } = about
  const run = commandOf(rule, about)
  const isProblem = severity !== 'calm' && severity !== 'warning'
  return {
    ...(isProblem ? problem(severity, found, run) : { ...ok(found, run), state: severity }),
    ...{ rule, ...(account !== undefined && { account }), ...(since && { since }) },
  }
}

/** Makes a finding that nothing is wrong. */
export function ok(found: string, run?: string): Finding {
  return { state: 'ok', found: toLine(found), ...(run !== undefined && { run }) }
}

/** Makes a finding of what works and should still be looked at. */
export function warning(found: string, run?: string): Finding {
  return { ...ok(found, run), state: 'warning' }
}

/** Makes a finding of what does not work. */
export function problem(kind: ProblemKind, found: string, run?: string): Finding {
  return { state: 'problem', kind, found: toLine(found), ...(run !== undefined && { run }) }
}

/** Makes the finding of a check that could not be made, and why. */
export function leftOut(reason: string): Finding {
  return { state: 'left_out', found: reason }
}

/** Turns an error into the finding of a problem, by its kind; without a remedy its sentence says what to do. */
export function problemOf(error: unknown, { hint, run }: Remedy = {}): Finding {
  const known = asDiskFull(error) ?? error
  return problem(kindOf(known), withRemedy(errorLine(known), { hint }), run)
}

function kindOf(error: unknown): ProblemKind {
  if (error instanceof CredentialsRejectedError) return 'credentials'
  if (error instanceof ConfigError) return 'configuration'
  return error instanceof TransientError || error instanceof RateLimitedError ? 'unreachable' : 'unexpected'
}

/** A daemon that has just started needs this long for what it makes up for. */
const SETTLED_AFTER_MS = 10 * MINUTE
/** The heartbeat says for a day what is past. */
const PAST_AFTER_MS = 1 * DAY

type DaemonTimes = Readonly<{ startedAt: Date; now: Date }>

/** Tells whether a finding may soon be over by itself in a daemon that began at `startedAt`, so that nothing is known yet. */
export function isOpen({ rule }: Finding, { startedAt, now }: DaemonTimes): boolean {
  if (rule?.open === 'after a start') return now.getTime() - startedAt.getTime() <= SETTLED_AFTER_MS
  return rule?.open === 'until over'
}

/** Tells whether a daemon that began at `startedAt` says a finding elsewhere, by heartbeat and messages. */
export function isSaid(finding: Finding, times: DaemonTimes): boolean {
  const { rule, state, since } = finding
  if (!rule || isOpen(finding, times)) return false
  return state !== 'calm' || !since || times.now.getTime() - since.getTime() <= PAST_AFTER_MS
}
