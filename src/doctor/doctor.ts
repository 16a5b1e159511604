import type { Logger } from 'pino'
import type { Config, ConfigProblem } from '../config/config.ts'
import { SECOND, within } from '../kit/time.ts'
import { checkBackups } from './check-backups.ts'
import { checkDatabase } from './check-database.ts'
import { checkExport } from './check-export.ts'
import {
  checkDropFolder,
  checkFitFiles,
  checkSharedFolders,
  checkWaitingFiles,
  checkWorkoutFolder,
} from './check-folders.ts'
import { checkHeartbeat } from './check-heartbeat.ts'
import { checkLogins, checkMirrors, checkSecretKey } from './check-logins.ts'
import {
  checkConfiguration,
  checkDataDirectory,
  checkDiskSpace,
  checkNode,
  checkOtherUsers,
} from './check-machine.ts'
import { checkMqtt } from './check-mqtt.ts'
import { checkQueue, checkRedis } from './check-queue.ts'
import { checkDaemon, checkService } from './check-service.ts'
import { checkWebhooks } from './check-webhooks.ts'
import { type DoctorContext, openDoctorContext } from './doctor-context.ts'
import { type Finding, leftOut, problem, problemOf } from './finding.ts'

/** Checks one thing. Expected trouble becomes a finding; an error that it throws becomes one, too. */
export type Check = Readonly<{
  name: string
  /** the variables that it uses; it is left out when one of them is wrong */
  variables: readonly string[]
  run: (context: DoctorContext) => Promise<readonly Finding[]>
}>

const DATABASE = ['DATABASE_URL', 'MUSETTE_DATA_DIR']

/** All checks, in the order in which their findings are printed: each depends only on those before it. */
export const CHECKS: readonly Check[] = [
  { name: 'node', variables: [], run: checkNode },
  { name: 'configuration', variables: [], run: checkConfiguration },
  { name: 'data directory', variables: ['MUSETTE_DATA_DIR'], run: checkDataDirectory },
  {
    name: 'disk space',
    variables: [
      'MUSETTE_DATA_DIR',
      'MUSETTE_DROP_DIR',
      'MUSETTE_WORKOUT_DIR',
      'MUSETTE_EXPORT_DIR',
      'MUSETTE_BACKUP_DIR',
    ],
    run: checkDiskSpace,
  },
  { name: 'database', variables: [...DATABASE, 'REDIS_URL', 'MUSETTE_CONCURRENCY'], run: checkDatabase },
  { name: 'redis', variables: ['REDIS_URL'], run: checkRedis },
  {
    name: 'queue',
    variables: [
      ...DATABASE,
      'REDIS_URL',
      'MUSETTE_POLL_EVERY',
      'MUSETTE_RECONCILE_EVERY',
      'MUSETTE_EXPORT_EVERY',
      'MUSETTE_BACKUP_EVERY',
    ],
    run: checkQueue,
  },
  { name: 'secret key', variables: [...DATABASE, 'MUSETTE_SECRET_KEY'], run: checkSecretKey },
  { name: 'service', variables: [...DATABASE, 'MUSETTE_BASE_URL'], run: checkService },
  { name: 'login', variables: [...DATABASE, 'MUSETTE_SECRET_KEY', 'MUSETTE_BASE_URL'], run: checkLogins },
  { name: 'mirror', variables: [...DATABASE, 'MUSETTE_POLL_EVERY'], run: checkMirrors },
  {
    name: 'drop folder',
    variables: ['MUSETTE_DATA_DIR', 'MUSETTE_DROP_DIR', 'MUSETTE_AFTER_UPLOAD', 'MUSETTE_WATCH_POLLING'],
    run: checkDropFolder,
  },
  { name: 'waiting files', variables: DATABASE, run: checkWaitingFiles },
  { name: 'fit files', variables: DATABASE, run: checkFitFiles },
  { name: 'workout folder', variables: ['MUSETTE_WORKOUT_DIR', 'MUSETTE_WORKOUTS'], run: checkWorkoutFolder },
  {
    name: 'shared folders',
    variables: [
      ...DATABASE,
      'MUSETTE_DROP_DIR',
      'MUSETTE_WORKOUT_DIR',
      'MUSETTE_EXPORT_DIR',
      'MUSETTE_BACKUP_DIR',
    ],
    run: checkSharedFolders,
  },
  {
    name: 'export',
    variables: [...DATABASE, 'MUSETTE_EXPORT_DIR', 'MUSETTE_EXPORT_EVERY'],
    run: checkExport,
  },
  {
    name: 'backups',
    variables: [...DATABASE, 'MUSETTE_BACKUP_DIR', 'MUSETTE_BACKUP_EVERY'],
    run: checkBackups,
  },
  { name: 'webhooks', variables: [...DATABASE, 'MUSETTE_WEBHOOKS'], run: checkWebhooks },
  {
    name: 'heartbeat',
    variables: [...DATABASE, 'MUSETTE_HEARTBEAT_URL', 'MUSETTE_POLL_EVERY'],
    run: checkHeartbeat,
  },
  {
    name: 'mqtt',
    variables: [
      ...DATABASE,
      'MUSETTE_MQTT_URL',
      'MUSETTE_MQTT_PASSWORD',
      'MUSETTE_MQTT_CA',
      'MUSETTE_MQTT_CERT',
      'MUSETTE_MQTT_KEY',
    ],
    run: checkMqtt,
  },
  { name: 'other users', variables: ['MUSETTE_HTTP', 'MUSETTE_HTTP_TOKEN'], run: checkOtherUsers },
  { name: 'daemon', variables: ['MUSETTE_HTTP', 'MUSETTE_HTTP_TOKEN'], run: checkDaemon },
]

/** A finding with the name of the check that made it. */
export type Diagnosis = Finding & { check: string }

/** Longer than starting the embedded Postgres may take, and than connecting to what does not answer. */
const CHECK_WITHIN_MS = 30 * SECOND

/**
 * Runs all checks at the same time and yields the findings of each, in the order of the checks. A check that fails does not
 * affect the others, and none takes longer than 30 seconds. The doctor changes nothing, uses and refreshes no token, and does
 * not disturb a running daemon.
 */
export async function* diagnose(
  deps: { log: Logger },
  input: { config: Config; problems: readonly ConfigProblem[] },
): AsyncGenerator<Diagnosis> {
  const { context, close } = openDoctorContext(deps, input)
  try {
    const running = CHECKS.map((check) => ({ check, findings: runCheck(check, context) }))
    for (const { check, findings } of running) {
      for (const finding of await findings) yield { check: check.name, ...finding }
    }
  } finally {
    await within(close(), CHECK_WITHIN_MS)
  }
}

async function runCheck(check: Check, context: DoctorContext): Promise<readonly Finding[]> {
  const wrong = context.problems.find(({ variable }) => check.variables.includes(variable))
  if (wrong) return [leftOut(`${wrong.name} is wrong`)]
  try {
    const findings = check.run(context)
    if (await within(findings, CHECK_WITHIN_MS)) return await findings
    return [problem('unreachable', `no answer within ${CHECK_WITHIN_MS / SECOND} s`)]
  } catch (error) {
    return [problemOf(error)]
  }
}
