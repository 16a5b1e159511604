import type { Command } from 'commander'
import type { Run } from '../context.ts'
import type { DemoOptions } from '../demo.ts'
import { wholeNumber } from '../output.ts'

/** Enough years to look at, few enough to be mirrored while one watches. */
const ACTIVITIES = 150

/** Adds `demo`. */
export function addDemoVerb(program: Command, run: Run): void {
  program
    .command('demo')
    .description(
      'the whole thing on this machine: a stand-in service, a Postgres, the daemon, an upload, some SQL',
    )
    .option('--once', 'end when everything has been shown')
    .option('--activities <count>', 'how many activities the stand-in rider has', wholeNumber, ACTIVITIES)
    .action((options: DemoOptions) =>
      run(async (context) => (await import('../demo.ts')).demo(context, options), { quiet: true }),
    )
}
