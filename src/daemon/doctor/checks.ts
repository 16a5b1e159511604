import type { Finding } from './finding.ts'
import { checkLogins } from './logins/logins.ts'
import { checkMirrors } from './logins/mirrors.ts'
import { checkSecretKey } from './logins/secret-key.ts'
import { checkConfiguration } from './machine/configuration.ts'
import { checkDataDirectory } from './machine/data-directory.ts'
import { checkDiskSpace } from './machine/disk-space.ts'
import { checkDropFolder } from './machine/drop-folder.ts'
import { checkNode } from './machine/node.ts'
import { checkWaitingFiles } from './machine/waiting-files.ts'
import { checkWorkoutFolder } from './machine/workout-folder.ts'
import type { Patient } from './patient.ts'
import { checkDaemon } from './programs/daemon.ts'
import { checkDatabase } from './programs/database.ts'
import { checkQueue } from './programs/queue.ts'
import { checkRedis } from './programs/redis.ts'
import { checkService } from './programs/service.ts'

/** One look at one thing. It makes a finding of everything it expects, and may throw what it does not. */
export type Check = Readonly<{
  name: string
  /** the variables it goes by; with one of them wrong it would look at the wrong thing */
  goesBy: readonly string[]
  look: (patient: Patient) => Promise<readonly Finding[]>
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
