import type { Logger } from 'pino'
import type { Config, ConfigProblem } from '../config/config.ts'
import { SECOND, sleep } from '../kit/time.ts'
import { checkDatabase } from './check-database.ts'
import { checkDropFolder, checkWaitingFiles, checkWorkoutFolder } from './check-folders.ts'
import { checkLogins, checkMirrors, checkSecretKey } from './check-logins.ts'
import { checkConfiguration, checkDataDirectory, checkDiskSpace, checkNode } from './check-machine.ts'
import { checkQueue, checkRedis } from './check-queue.ts'
import { checkDaemon, checkService } from './check-service.ts'
import { type DoctorContext, openDoctorContext } from './context.ts'
import { type Finding, leftOut, problem, problemOf } from './finding.ts'

/** One look at one thing. It makes a finding of everything it expects, and may throw what it does not. */
export type Check = Readonly<{
  name: string
  /** the variables it goes by; with one of them wrong it would look at the wrong thing */
  goesBy: readonly string[]
  look: (context: DoctorContext) => Promise<readonly Finding[]>
}>

const DATABASE = ['DATABASE_URL', 'MUSETTE_DATA_DIR']

/** Every check, from the ground up: what comes later stands on what comes before. */
export const CHECKS: readonly Check[] = [
  { name: 'node', goesBy: [], look: checkNode },
  { name: 'configuration', goesBy: [], look: checkConfiguration },
  { name: 'data directory', goesBy: ['MUSETTE_DATA_DIR'], look: checkDataDirectory },
  {
    name: 'disk space',
    goesBy: ['MUSETTE_DATA_DIR', 'MUSETTE_DROP_DIR', 'MUSETTE_WORKOUT_DIR'],
    look: checkDiskSpace,
  },
  { name: 'database', goesBy: [...DATABASE, 'REDIS_URL', 'MUSETTE_CONCURRENCY'], look: checkDatabase },
  { name: 'redis', goesBy: ['REDIS_URL'], look: checkRedis },
  {
    name: 'queue',
    goesBy: [...DATABASE, 'REDIS_URL', 'MUSETTE_POLL_EVERY', 'MUSETTE_RECONCILE_EVERY'],
    look: checkQueue,
  },
  { name: 'secret key', goesBy: [...DATABASE, 'MUSETTE_SECRET_KEY'], look: checkSecretKey },
  { name: 'service', goesBy: [...DATABASE, 'MUSETTE_BASE_URL'], look: checkService },
  { name: 'login', goesBy: [...DATABASE, 'MUSETTE_SECRET_KEY', 'MUSETTE_BASE_URL'], look: checkLogins },
  { name: 'mirror', goesBy: [...DATABASE, 'MUSETTE_POLL_EVERY'], look: checkMirrors },
  {
    name: 'drop folder',
    goesBy: ['MUSETTE_DATA_DIR', 'MUSETTE_DROP_DIR', 'MUSETTE_AFTER_UPLOAD', 'MUSETTE_WATCH_POLLING'],
    look: checkDropFolder,
  },
  { name: 'waiting files', goesBy: DATABASE, look: checkWaitingFiles },
  { name: 'workout folder', goesBy: ['MUSETTE_WORKOUT_DIR'], look: checkWorkoutFolder },
  { name: 'daemon', goesBy: ['MUSETTE_HTTP', 'MUSETTE_HTTP_TOKEN'], look: checkDaemon },
]

/** A finding with the name of the check that made it. */
export type Diagnosis = Finding & { check: string }

/** Longer than starting the embedded Postgres may take, and than connecting to what does not answer. */
const CHECK_WITHIN_MS = 30 * SECOND

/**
 * Looks at everything that musette stands on, all at once, and yields what each check found, in the order of the checks.
 * No check keeps another from being made, nor takes longer than half a minute; one that goes by a variable that is wrong
 * is left out. Nothing is mended, no token is used or refreshed, and a daemon that runs goes on undisturbed.
 */
export async function* examine(
  deps: { log: Logger },
  input: { config: Config; problems: readonly ConfigProblem[] },
): AsyncGenerator<Diagnosis> {
  const { context, close } = openDoctorContext(deps, input)
  try {
    const looks = CHECKS.map((check) => ({ check, findings: look(check, context) }))
    for (const { check, findings } of looks) {
      for (const finding of await findings) yield { check: check.name, ...finding }
    }
  } finally {
    await within(close(), CHECK_WITHIN_MS)
  }
}

async function look(check: Check, context: DoctorContext): Promise<readonly Finding[]> {
  const wrong = context.problems.find(({ variable }) => check.goesBy.includes(variable))
  if (wrong) return [leftOut(`${wrong.name} is wrong`)]
  try {
    const findings = await within(check.look(context), CHECK_WITHIN_MS)
    return findings ?? [problem('unreachable', `no answer within ${CHECK_WITHIN_MS / SECOND} s`)]
  } catch (error) {
    return [problemOf(error)]
  }
}

/** Waits for work, `ms` at most; undefined when it took longer. */
async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const timer = new AbortController()
  work.catch(() => undefined)
  const late = sleep(ms, timer.signal).catch(() => undefined)
  try {
    return await Promise.race([work, late.then(() => undefined)])
  } finally {
    timer.abort()
  }
}
