import type { Command } from 'commander'
import { openHouse } from '../daemon/house.ts'
import { type SyncCounts, syncAccount } from '../daemon/sync.ts'
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
  const house = await openHouse(context.config, context.log, { signal: context.signal, byHand: true })
  const line = makeProgressLine(context, 'activities')
  try {
    const counts = await syncAccount(house, {
      name,
      full,
      acceptRemovals,
      coaching: true,
      signal: context.signal,
      onProgress: (now) => line.show(now),
    })
    line.finish(`account "${name}": ${sentenceOf(counts)}`)
    const { listed, fetched, unchanged, absent, failed, pending } = counts
    const result = { listed, fetched, unchanged, absent, failed, pending }
    const duration = Date.now() - startedAt
    if (options.json) context.printJson({ account: name, ...result, duration_ms: duration })
    return failed > 0 || counts.unfetched > 0 ? EXIT.partial : EXIT.done
  } finally {
    line.close()
    await house.close()
  }
}

/** Says what the pass changed and what is not mirrored, with the reason and the command that goes on. */
function sentenceOf(counts: SyncCounts): string {
  const { listed, fetched, unchanged, absent, failed, pending, mirrored, unfetched, reason } = counts
  const withoutSamples = pending - unfetched
  const some = (count: number, what: string) => (count > 0 ? [`${count} ${what}`] : [])
  const why = reason === undefined ? '' : ` (${reason})`
  const changed = [
    ...some(fetched, 'fetched'),
    ...some(unchanged, 'looked at again and unchanged'),
    ...some(absent, 'gone from the list'),
  ]
  const quiet = changed.length === 0 && unfetched === 0 && failed === 0
  return [
    ...(quiet ? ['nothing has changed'] : [`${listed} listed`, ...changed]),
    `${mirrored} mirrored in all`,
    ...some(withoutSamples, 'still without samples at the service'),
    ...(unfetched > 0 ? [`${unfetched} not fetched${why}; run: musette sync`] : []),
    ...(failed > 0 ? [`${failed} failed${unfetched > 0 ? '' : why}; run: musette status`] : []),
  ].join(', ')
}
