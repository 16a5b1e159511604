import { once } from 'node:events'
import { type Command, Option } from 'commander'
import { ROLES, type Role } from '../../daemon/roles.ts'
import { ConfigError, isAbort } from '../../kit/errors.ts'
import { SECOND } from '../../kit/time.ts'
import { type Context, EXIT, type Run } from '../context.ts'

/** Longer than a token request may take, because it is never cancelled; shorter than a container's grace of a minute. */
const STOP_WITHIN_MS = 55 * SECOND

/** The lines of the log are written at once; this is for what was told to end and still holds a timer. */
const END_WITHIN_MS = SECOND / 10

/** Adds the verb `start` to the program. */
export function addStartVerb(program: Command, run: Run): void {
  program
    .command('start')
    .description('run the daemon until a signal stops it')
    .addOption(rolesOption())
    .action((options: { roles: readonly Role[] }) =>
      run((context) => start(context, options.roles), { logsWork: true }),
    )
}

async function start({ config, log, signal }: Context, roles: readonly Role[]): Promise<undefined> {
  const { toggleDebug } = await import('../../log.ts')
  // Before anything is opened: without a listener this signal ends the process.
  process.on('SIGUSR2', () => toggleDebug(log, config.logLevel))
  const { openDaemon } = await import('../../daemon/daemon.ts')
  const daemon = await openDaemon(config, log, { roles, signal }).catch((error: unknown) => {
    if (isAbort(error, signal)) return undefined
    throw error
  })
  // A stop during the opening is not a failure of a daemon.
  if (!daemon) return
  const stopped = signal.aborted || once(signal, 'abort')
  const failure = await Promise.race([daemon.failed, stopped])
  log.info('stopping')
  const deadline = setTimeout(() => {
    log.fatal('could not stop in time; the next start continues the interrupted work')
    // An exit would wait for a thread that waits for a file.
    process.kill(process.pid, 'SIGKILL')
  }, STOP_WITHIN_MS)
  try {
    await daemon.close()
  } finally {
    clearTimeout(deadline)
    // A Redis client may still try to reconnect and keep the process alive; nothing else is left to do.
    setTimeout(() => process.exit(), END_WITHIN_MS).unref()
  }
  if (failure instanceof Error) throw failure
  log.info('stopped')
}

function rolesOption(): Option {
  const option = new Option('--roles <roles>', 'which parts, separated by commas')
  option.argChoices = [...ROLES]
  return option.argParser(parseRoles).default([...ROLES], 'all of them')
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

/** Adds the verb `healthcheck` to the program. */
export function addHealthcheckVerb(program: Command, run: Run): void {
  program
    .command('healthcheck')
    .description('exit 0 when the running daemon is ready')
    .action(() =>
      run(
        async (context) => {
          const { fetchReadiness } = await import('../../doctor/fetch-readiness.ts')
          const readiness = await fetchReadiness(context.config)
          if (readiness.ready) return EXIT.done
          for (const [part, state] of Object.entries(readiness.parts)) context.note(`${part}: ${state}`)
          return EXIT.unreachable
        },
        { withoutDataDir: true },
      ),
    )
}
