import { once } from 'node:events'
import { ConfigError, errorCode, isAbort } from '../../../kit/errors.ts'
import { SECOND } from '../../../kit/time.ts'
import { ROLES, type Role } from '../../daemon/roles.ts'
import { EXIT } from '../../frame/context.ts'
import { MIRROR } from '../../frame/help-of-verbs.ts'
import { defineVerb, flag, option } from '../../frame/verb.ts'

/** How long a stop may take, ms: longer than a token request, which is never cancelled, and shorter than a container's grace period of a minute. */
const STOP_WITHIN_MS = 55 * SECOND

/** How long the process may live after the stop, ms: log lines are written at once, but a stopped part may still have a timer. */
const END_WITHIN_MS = SECOND / 10

const roles = option('--roles <roles>', 'parts to run, separated by commas', parseRoles, [...ROLES])
roles.argChoices = [...ROLES]
roles.defaultValueDescription = 'all of them'

const takeOver = flag(
  '--take-over',
  'start the embedded Postgres even though this machine cannot see whether the process that ran it elsewhere has ended',
)

export const startVerb = defineVerb({
  name: 'start',
  description: 'run the daemon until a signal stops it',
  options: { roles, takeOver },
  help: {
    settings: [
      ...MIRROR,
      'MUSETTE_MIGRATE',
      'REDIS_URL',
      'MUSETTE_DROP_DIR',
      'MUSETTE_AFTER_UPLOAD',
      'MUSETTE_SETTLE',
      'MUSETTE_KNOWN_RIDES',
      'MUSETTE_WATCH_POLLING',
      'MUSETTE_KEEP_FIT',
      'MUSETTE_POLL_EVERY',
      'MUSETTE_RECONCILE_EVERY',
      'MUSETTE_LAG',
      'MUSETTE_SCRUB_PER_DAY',
      'MUSETTE_HTTP',
      'MUSETTE_HTTP_PATH',
      'MUSETTE_HTTP_TOKEN',
    ],
    exits: ['unreachable'],
    examples: ['musette start', 'musette start --roles worker,web'],
  },
  needs: 'nothing',
  logsWork: true,
  async run({ config, log, signal }, { roles, takeOver = false }): Promise<undefined> {
    const { toggleDebug } = await import('../../../log.ts')
    // Before anything is opened, because without a listener this signal ends the process.
    process.on('SIGUSR2', () => toggleDebug(log, config.logLevel))
    const { openDaemon } = await import('../../daemon/daemon.ts')
    for (;;) {
      const daemon = await openDaemon({ ...config, takeOver }, log, { roles, signal }).catch(
        (error: unknown) => {
          if (isAbort(error, signal)) return undefined
          throw error
        },
      )
      // A stop while the daemon opens is not a failure.
      if (!daemon) return
      const stopped = signal.aborted || once(signal, 'abort')
      const failure = await Promise.race([daemon.failed, stopped])
      const opensAgain = errorCode(failure) === 'database_new_line' && !signal.aborted
      log.info(opensAgain ? 'opening again' : 'stopping')
      const deadline = setTimeout(() => {
        log.fatal('could not stop in time; the next start continues the interrupted work')
        // process.exit would wait for a thread that waits for a file.
        process.kill(process.pid, 'SIGKILL')
      }, STOP_WITHIN_MS)
      try {
        await daemon.close()
      } finally {
        clearTimeout(deadline)
        // A Redis client may still try to reconnect and keep the process alive; nothing else is left to do.
        if (!opensAgain) setTimeout(() => process.exit(), END_WITHIN_MS).unref()
      }
      if (opensAgain) continue
      if (failure instanceof Error) throw failure
      log.info('stopped')
      return
    }
  },
})

function parseRoles(text: string): Role[] {
  const words = text.split(',').map((word) => word.trim())
  const unknown = words.filter((word) => !isRole(word))
  if (unknown.length === 0) return words.filter(isRole)
  throw new ConfigError('bad_roles', `unknown role ${unknown.join(', ')}; the roles are ${ROLES.join(', ')}`)
}

function isRole(word: string): word is Role {
  return (ROLES as readonly string[]).includes(word)
}

export const healthcheckVerb = defineVerb({
  name: 'healthcheck',
  description: 'exit 0 if the running daemon is ready',
  help: {
    settings: ['MUSETTE_HTTP', 'MUSETTE_HTTP_TOKEN'],
    exits: ['unreachable'],
    examples: ['musette healthcheck'],
  },
  needs: 'nothing',
  withoutDataDir: true,
  async run({ config, note }) {
    const { fetchReadiness } = await import('../../doctor/fetch-readiness.ts')
    const readiness = await fetchReadiness(config)
    if (readiness.ready) return EXIT.done
    for (const [part, state] of Object.entries(readiness.parts)) note(`${part}: ${state}`)
    return EXIT.unreachable
  },
})
