import type { Logger } from 'pino'
import { FEATURES } from '../../features/index.ts'
import { SECOND, within } from '../../kit/time.ts'
import { fitCommand, withRemedy } from '../app/remedy.ts'
import { DATABASE_VARIABLES, loadStates } from '../frame/findings/facts.ts'
import { type Finding, leftOut, problem, problemOf } from '../frame/findings/finding.ts'
import { checkDatabase } from './check-database.ts'
import { checkDropFolder } from './check-folders.ts'
import { checkLogins, checkMirrors, checkSecretKey } from './check-logins.ts'
import {
  checkConfiguration,
  checkDataDirectory,
  checkDiskSpace,
  checkNode,
  checkOtherUsers,
} from './check-machine.ts'
import { checkQueue, checkRedis } from './check-queue.ts'
import { checkDaemon, checkService } from './check-service.ts'
import { type DoctorContext, type DoctorInput, findListed, openDoctorContext } from './doctor-context.ts'

/** Checks one thing. Expected problems and thrown errors become findings. */
export type Check = Readonly<{
  name: string
  /** the variables that the check uses; the check is left out if one of them is wrong */
  variables: readonly string[]
  run: (context: DoctorContext) => Promise<readonly Finding[]>
}>

const DATABASE = DATABASE_VARIABLES
const DROPPING = ['MUSETTE_DROP_DIR', 'MUSETTE_AFTER_UPLOAD', 'MUSETTE_WATCH_POLLING']
const INTERVALS = ['MUSETTE_POLL_EVERY', 'MUSETTE_RECONCILE_EVERY']
const PAGE = ['MUSETTE_HTTP', 'MUSETTE_HTTP_TOKEN']

const makeCheck = (name: string, run: Check['run'], ...variables: string[]): Check => ({
  name,
  variables,
  run,
})
/** Makes a check that adds nothing to the findings of its judges. */
const makeListed = (name: string, ...variables: string[]) =>
  makeCheck(name, (context) => findListed(context, name), ...variables)

/** Lists all checks in the order of their output; each depends only on earlier checks. */
export async function listChecks(): Promise<Check[]> {
  const states = await loadStates(FEATURES)
  const folders = ['MUSETTE_DROP_DIR', ...states.flatMap(({ folder }) => folder?.variable ?? [])]
  const intervals = states.flatMap(({ variables }) => variables.filter((name) => name.endsWith('_EVERY')))
  return [
    makeCheck('node', checkNode),
    makeCheck('configuration', checkConfiguration),
    makeCheck('data directory', checkDataDirectory, 'MUSETTE_DATA_DIR'),
    makeCheck('disk space', checkDiskSpace, 'MUSETTE_DATA_DIR', ...folders),
    makeCheck('database', checkDatabase, ...DATABASE, 'REDIS_URL', 'MUSETTE_CONCURRENCY'),
    makeCheck('redis', checkRedis, 'REDIS_URL'),
    makeCheck('queue', checkQueue, ...DATABASE, 'REDIS_URL', ...INTERVALS, ...intervals),
    makeCheck('secret key', checkSecretKey, ...DATABASE, 'MUSETTE_SECRET_KEY'),
    makeCheck('service', checkService, ...DATABASE, 'MUSETTE_BASE_URL'),
    makeCheck('login', checkLogins, ...DATABASE, 'MUSETTE_SECRET_KEY', 'MUSETTE_BASE_URL'),
    makeCheck('mirror', checkMirrors, ...DATABASE, 'MUSETTE_POLL_EVERY'),
    makeCheck('drop folder', checkDropFolder, 'MUSETTE_DATA_DIR', ...DROPPING),
    makeListed('waiting files', ...DATABASE),
    makeListed('fit files', ...DATABASE),
    makeListed('shared folders', ...DATABASE, ...folders),
    ...states.map(({ check, variables, diagnose }) => {
      const run: Check['run'] = (context) => {
        const listed = () => findListed(context, check)
        return diagnose ? diagnose({ ...context, listed }) : listed()
      }
      return makeCheck(check, run, ...variables)
    }),
    makeCheck('other users', checkOtherUsers, ...PAGE),
    makeCheck('daemon', checkDaemon, ...PAGE),
  ]
}

/** A finding with the name of the check that made it. */
export type Diagnosis = Finding & { check: string }

/** Timeout of a check, ms: longer than the start of the embedded Postgres, or a connection to a server that does not answer. */
const CHECK_WITHIN_MS = 30 * SECOND

/**
 * Runs all checks at the same time and yields the findings of each, in the order of the checks. A check that fails does not affect the
 * others, and no check takes longer than 30 seconds. The doctor changes nothing, uses and refreshes no token, and does not disturb a running
 * daemon.
 */
export async function* diagnose(deps: { log: Logger }, input: DoctorInput): AsyncGenerator<Diagnosis> {
  const { context, close } = openDoctorContext(deps, input)
  try {
    const running = (await listChecks()).map((check) => ({ check, findings: runCheck(check, context) }))
    for (const { check, findings } of running) {
      for (const finding of await findings) yield { check: check.name, ...finding }
    }
  } finally {
    await within(close(), CHECK_WITHIN_MS)
  }
}

/** Runs one check, and fits the commands of its findings to where the settings are. */
export async function runCheck(check: Check, context: DoctorContext): Promise<readonly Finding[]> {
  const wrong = context.problems.find(({ variable }) => check.variables.includes(variable))
  if (wrong) return [leftOut(`${wrong.name} is wrong`)]
  try {
    const findings = check.run(context)
    if (await within(findings, CHECK_WITHIN_MS))
      return (await findings).map((finding) => fitFinding(finding, context.config))
    return [problem('unreachable', `no answer within ${CHECK_WITHIN_MS / SECOND} s`)]
  } catch (error) {
    return [problemOf(error)]
  }
}

/** Adapts the command of a finding to the place of the settings. In the doctor, a calm finding is a warning. */
function fitFinding(finding: Finding, config: DoctorContext['config']): Finding {
  const { run = '' } = finding
  const fitted = fitCommand(run, config)
  const [, variable = ''] = /^export (\w+)=/.exec(fitted) ?? []
  const isInShell = config.setIn[variable] === ''
  const hint = isInShell ? 'it comes from the environment: change it where that is written, too' : undefined
  const found = withRemedy(fitCommand(finding.found, config), { hint })
  if (finding.state === 'problem') return problem(finding.kind, found, fitted || undefined)
  const state = finding.state === 'calm' ? 'warning' : finding.state
  return { state, found, ...(run !== '' && { run: fitted }) }
}
