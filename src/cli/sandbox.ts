import { once } from 'node:events'
import type { Command } from 'commander'
import { ConfigError } from '../kit/errors.ts'
import type { Run } from './cli.ts'

type Options = { port: number; activities?: number; seed?: number; sampleDelayMs?: number }

/** Adds `sandbox`. */
export function addSandboxVerb(program: Command, run: Run): void {
  program
    .command('sandbox')
    .description('run the stand-in service on 127.0.0.1, with a rider and years of history')
    .option('--port <port>', 'where it listens', wholeNumber, 8789)
    .option('--activities <count>', 'how many activities the rider has', wholeNumber)
    .option('--seed <seed>', 'another seed is another rider', wholeNumber)
    .option('--sample-delay-ms <ms>', 'how long the samples of an upload take', wholeNumber)
    .action((options: Options) =>
      run(
        async (context) => {
          const { startSandbox } = await import('../sandbox/sandbox.ts')
          const sandbox = await startSandbox(options)
          context.print(`listening ${sandbox.url}`)
          context.note(`rider "rider", password "rider"; what it can do: ${sandbox.url}/_sandbox/`)
          if (!context.signal.aborted) await once(context.signal, 'abort')
          await sandbox.close()
          return undefined
        },
        { quiet: true },
      ),
    )
}

function wholeNumber(text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  throw new ConfigError('bad_option', `"${text.slice(0, 40)}" is not a whole number`)
}
