import type { Command } from 'commander'
import { openHouse } from '../daemon/house.ts'
import { syncAccount } from '../daemon/sync.ts'
import { ConfigError } from '../kit/errors.ts'
import type { Run } from './cli.ts'
import type { Context } from './context.ts'
import { tuneForPass } from './engine.ts'
import { EXIT } from './exit.ts'
import { makeProgressLine } from './progress.ts'

type SyncOptions = { full?: boolean; acceptRemovals?: boolean; json?: boolean }

/** Adds `sync`. */
export function addSyncVerb(program: Command, run: Run): void {
  program
    .command('sync [account]')
    .description('mirror every known change in one pass, in this process, without the queue')
    .option('--full', 'compare the whole list with the mirror, too: removals, and edits that were missed')
    .option(
      '--accept-removals',
      'with --full: take it that activities missing in the list are gone, however many',
    )
    .option('--json', 'print the counts as one JSON object')
    .action((account: string | undefined, options: SyncOptions) =>
      run((context) => sync(context, account ?? 'default', options), { quiet: true }),
    )
}

async function sync(context: Context, name: string, options: SyncOptions): Promise<number> {
  const { full = false, acceptRemovals = false } = options
  if (acceptRemovals && !full)
    throw new ConfigError('bad_usage', '--accept-removals goes with --full; run: musette sync --help')
  const startedAt = Date.now()
  tuneForPass()
  const house = await openHouse(context.config, context.log, { byHand: true })
  try {
    const line = makeProgressLine(context, 'activities')
    const counts = await syncAccount(house, {
      name,
      full,
      acceptRemovals,
      coaching: true,
      signal: context.signal,
      onProgress: (now) => line.show(now),
    })
    const result = { account: name, ...counts, duration_ms: Date.now() - startedAt }
    const absent = counts.absent > 0 ? `, ${counts.absent} gone from the list` : ''
    const pending = counts.pending > 0 ? `, ${counts.pending} not there yet` : ''
    const failed = counts.failed > 0 ? `, ${counts.failed} failed; run: musette status` : ''
    line.finish(
      `account "${name}": ${counts.listed} listed, ${counts.fetched} fetched, ${counts.unchanged} unchanged${absent}${pending}${failed}`,
    )
    if (options.json) context.print(JSON.stringify(result))
    return counts.failed > 0 ? EXIT.partial : EXIT.done
  } finally {
    await house.close()
  }
}
