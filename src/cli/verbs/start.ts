import { once } from 'node:events'
import type { Command } from 'commander'
import { ROLES, type Role } from '../../daemon/roles.ts'
import { fetchReadiness } from '../../doctor/check-service.ts'
import { ConfigError, isAbort } from '../../kit/errors.ts'
import { SECOND } from '../../kit/time.ts'
import { toggleDebug } from '../../log.ts'
import { EXIT, type Run } from '../context.ts'

/** Longer than a token request may take, which is never cancelled; shorter than a container's grace of a minute. */
const STOP_WITHIN_MS = 55 * SECOND

/** What a process that has stopped may still need: the last lines of its log. */
const END_WITHIN_MS = 1 * SECOND

/** Adds `start`. */
export function addStartVerb(program: Command, run: Run): void {
  program
    .command('start')
    .description('run the daemon until it is told to stop')
    .option('--roles <roles>', `which parts, separated by commas: ${ROLES.join(', ')}`, parseRoles, [
      ...ROLES,
    ])
    .action((options: { roles: readonly Role[] }) =>
      run(async ({ config, log, signal }) => {
        // Queues and web server are only loaded by who runs them: the other verbs answer the sooner.
        const { openDaemon } = await import('../../daemon/daemon.ts')
        // From before anything is open: a signal that nobody listens to ends the process.
        process.on('SIGUSR2', () => toggleDebug(log, config.logLevel))
        const daemon = await openDaemon(config, log, { roles: options.roles, signal }).catch(
          (error: unknown) => {
            if (isAbort(error, signal)) return undefined
            throw error
          },
        )
        // Told to stop before it was open: to a daemon that is no failure.
        if (!daemon) return undefined
        const stopped = signal.aborted || once(signal, 'abort')
        const failure = await Promise.race([daemon.failed, stopped])
        log.info('stopping')
        const deadline = setTimeout(() => {
          log.fatal('could not stop in time; what was under way is found again at the next start')
          process.exit(EXIT.unexpected)
        }, STOP_WITHIN_MS)
        try {
          await daemon.close()
        } finally {
          clearTimeout(deadline)
          // A client of a Redis that is gone may go on calling for it, and nothing else is left to wait for.
          setTimeout(() => process.exit(), END_WITHIN_MS).unref()
        }
        if (failure instanceof Error) throw failure
        log.info('stopped')
        return undefined
      }),
    )
}

function parseRoles(text: string): Role[] {
  const words = text.split(',').map((word) => word.trim())
  const unknown = words.filter((word) => !isRole(word))
  if (unknown.length === 0) return words.filter(isRole)
  throw new ConfigError('bad_roles', `unknown role ${unknown.join(', ')}; the roles are ${ROLES.join(', ')}`)
}

function isRole(word: string): word is Role {
  return (ROLES as readonly string[]).includes(word)
}

/** Adds `healthcheck`. */
export function addHealthcheckVerb(program: Command, run: Run): void {
  program
    .command('healthcheck')
    .description('exit 0 when the running daemon is ready')
    .action(() =>
      run(
        async (context) => {
          const readiness = await fetchReadiness(context.config)
          if (readiness.ready) return EXIT.done
          for (const [part, state] of Object.entries(readiness.parts)) context.note(`${part}: ${state}`)
          return EXIT.unreachable
        },
        { quiet: true },
      ),
    )
}
