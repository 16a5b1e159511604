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

/** The kind of a problem; it decides the exit code of the doctor. */
export type ProblemKind = 'configuration' | 'unreachable' | 'credentials' | 'unexpected'

/** Where a finding is shown. `header`: on every page; `ready`: makes `/readyz` unready; `message`: goes to webhooks. */
export type Place = 'doctor' | 'status' | 'page' | 'header' | 'ready' | 'heartbeat' | 'message'

/** What all findings with one code share. */
export type Rule = Readonly<{
  code: string
  /** a kind of problem; `warning` if something works but a person should check it; `calm` if the fault is over or ends without a person */
  severity: ProblemKind | 'warning' | 'calm'
  shown: readonly Place[]
  /** the finding's command, see `commandOf` */
  run: string
  /** how long heartbeat and messages omit the finding, because a daemon first catches up on what it missed while it was down */
  open?: 'after a start' | 'until over' | undefined
}>

/**
 * Makes rules from a table: code, severity, the places that show the finding, and the command that fixes the problem or helps to find its
 * cause.
 */
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

/**
 * The values that replace the words in capitals in a command, and the other members of a finding. `run`: the finding's command, if the
 * table has only an example.
 */
type About = {
  account?: string
  since?: Date | null | undefined
  DIR?: string
  FILE?: string
  NAME?: string
  run?: string
}

/** Returns the command of a finding, or undefined if its sentence says what to do. */
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
  // A person types a command as it stands, so a command with a placeholder is not returned.
  return command.includes('…') ? undefined : command
}

/** The result of one check, as a phrase for a person, and the command that fixes the problem or helps to find its cause. */
export type Finding = Readonly<{
  found: string
  run?: string
  /** undefined if nothing is wrong, and for findings that only the doctor makes */
  rule?: Rule
  account?: string
  since?: Date
}> &
  Readonly<
    // `left_out` could not be checked; `found` says why
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

/** Makes the finding that nothing is wrong. */
export function ok(found: string, run?: string): Finding {
  return { state: 'ok', found: toLine(found), ...(run !== undefined && { run }) }
}

/** Makes a finding for something that works but that a person should check. */
export function warning(found: string, run?: string): Finding {
  return { ...ok(found, run), state: 'warning' }
}

/** Makes a finding for something that does not work. */
export function problem(kind: ProblemKind, found: string, run?: string): Finding {
  return { state: 'problem', kind, found: toLine(found), ...(run !== undefined && { run }) }
}

/** Makes a finding for a check that could not run; `reason` says why. */
export function leftOut(reason: string): Finding {
  return { state: 'left_out', found: reason }
}

/**
 * Makes the finding of an error, with the kind of problem that the error belongs to. Without a remedy, the error's own sentence says what
 * to do.
 */
export function problemOf(error: unknown, { hint, run }: Remedy = {}): Finding {
  const known = asDiskFull(error) ?? error
  return problem(kindOf(known), withRemedy(errorLine(known), { hint }), run)
}

function kindOf(error: unknown): ProblemKind {
  if (error instanceof CredentialsRejectedError) return 'credentials'
  if (error instanceof ConfigError) return 'configuration'
  return error instanceof TransientError || error instanceof RateLimitedError ? 'unreachable' : 'unexpected'
}

/** How long a daemon catches up after its start, ms. */
const SETTLED_AFTER_MS = 10 * MINUTE
/** How long the heartbeat reports a finding that is past, ms. */
const PAST_AFTER_MS = 1 * DAY

type DaemonTimes = Readonly<{ startedAt: Date; now: Date }>

/** Reports whether a finding may soon end without a person, because a daemon that began at `startedAt` is still catching up. */
export function isOpen({ rule }: Finding, { startedAt, now }: DaemonTimes): boolean {
  if (rule?.open === 'after a start') return now.getTime() - startedAt.getTime() <= SETTLED_AFTER_MS
  return rule?.open === 'until over'
}

/** Reports whether a daemon that began at `startedAt` reports a finding by heartbeat and messages. */
export function isSaid(finding: Finding, times: DaemonTimes): boolean {
  const { rule, state, since } = finding
  if (!rule || isOpen(finding, times)) return false
  return state !== 'calm' || !since || times.now.getTime() - since.getTime() <= PAST_AFTER_MS
}
