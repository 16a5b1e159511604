import { once } from 'node:events'
import { type Command, InvalidArgumentError } from 'commander'
import { ConfigError, errorCode } from '../../kit/errors.ts'
import type { Run } from '../context.ts'
import type { DemoOptions } from '../demo.ts'
import { wholeNumber } from '../output.ts'

type Client = { id: string; secret: string }
type Options = {
  port: number
  activities?: number
  longestActivitySeconds?: number
  seed?: number
  sampleDelayMs?: number
  home?: string
  client: Client[]
  redirectUri: string[]
}

/** Several years of history, and few enough to be mirrored in seconds. */
const DEMO_ACTIVITIES = 150

/** Adds the verb `sandbox` to the program. */
export function addSandboxVerb(program: Command, run: Run): void {
  program
    .command('sandbox')
    .description('run the stand-in service on 127.0.0.1, with a rider and years of history')
    .option('--port <port>', 'where it listens', port, 8789)
    .option('--activities <count>', 'how many activities the rider has', wholeNumber)
    .option('--longest-activity-seconds <seconds>', 'no activity of the history is longer', wholeNumber)
    .option('--seed <seed>', 'another seed is another rider', wholeNumber)
    .option('--sample-delay-ms <ms>', 'how long the samples of an upload take', wholeNumber)
    .option('--home <zone>', 'where the rider lives, such as Pacific/Auckland')
    .option('--client <id:secret>', 'register a further client, for all three grants; repeatable', client, [])
    .option('--redirect-uri <uri>', 'where further clients may be sent back to; repeatable', collect, [])
    .action(({ client: clients, redirectUri: redirectUris, ...options }: Options) =>
      run(
        async (context) => {
          const { startSandbox } = await import('../../sandbox/sandbox.ts')
          const sandbox = await startSandbox({
            ...options,
            clients: clients.map((each) => ({ ...each, redirectUris })),
          }).catch((error: unknown) => {
            if (error instanceof ConfigError) throw error
            const reason = `the sandbox cannot listen on port ${options.port} (${errorCode(error)}); add --port 0`
            throw new ConfigError('sandbox_port', reason, { cause: error })
          })
          context.print(`listening ${sandbox.url}`)
          context.note(`rider "rider", password "rider"; what it can do: ${sandbox.url}/_sandbox/`)
          if (!context.signal.aborted) await once(context.signal, 'abort')
          await sandbox.close()
        },
        { withoutDataDir: true },
      ),
    )
}

function port(text: string): number {
  const number = wholeNumber(text)
  if (number <= 65_535) return number
  throw new InvalidArgumentError('The last port is 65535.')
}

function client(text: string, before: readonly Client[]): Client[] {
  const colon = text.indexOf(':')
  if (colon > 0) return [...before, { id: text.slice(0, colon), secret: text.slice(colon + 1) }]
  throw new InvalidArgumentError('It is not ID:SECRET, for example my_app:my_secret.')
}

function collect(text: string, before: readonly string[]): string[] {
  return [...before, text]
}

/** Adds the verb `demo` to the program. */
export function addDemoVerb(program: Command, run: Run): void {
  program
    .command('demo')
    .description(
      'show everything on this machine: a stand-in service, a Postgres, the daemon, an upload, some SQL',
    )
    .option('--once', 'end when everything has been shown')
    .option(
      '--activities <count>',
      'how many activities the stand-in rider has',
      wholeNumber,
      DEMO_ACTIVITIES,
    )
    .action((options: DemoOptions) =>
      run(async (context) => (await import('../demo.ts')).demo(context, options)),
    )
}
