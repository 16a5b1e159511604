import type { Command } from 'commander'
import { fetchReadiness } from '../daemon/healthcheck.ts'
import type { Run } from './cli.ts'
import { EXIT } from './exit.ts'

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
