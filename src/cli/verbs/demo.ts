import type { Command } from 'commander'
import type { Run } from '../context.ts'
import type { DemoOptions } from '../demo.ts'
import { wholeNumber } from '../output.ts'

/** Several years of history, and few enough to be mirrored in seconds. */
const ACTIVITIES = 150

/** Adds the verb `demo` to the program. */
export function addDemoVerb(program: Command, run: Run): void {
  program
    .command('demo')
    .description(
      'show everything on this machine: a stand-in service, a Postgres, the daemon, an upload, some SQL',
    )
    .option('--once', 'end when everything has been shown')
    .option('--activities <count>', 'how many activities the stand-in rider has', wholeNumber, ACTIVITIES)
    .action((options: DemoOptions) =>
      run(async (context) => (await import('../demo.ts')).demo(context, options), { quiet: true }),
    )
}
