import type { Command } from 'commander'
import { openHouse } from '../daemon/house.ts'
import { resyncAccount } from '../daemon/sync.ts'
import { parseDay } from '../kit/day.ts'
import { ConfigError } from '../kit/errors.ts'
import type { Run } from './cli.ts'
import type { Context } from './context.ts'
import { tuneForPass } from './engine.ts'
import { EXIT } from './exit.ts'
import { makeProgressLine } from './progress.ts'

type ResyncOptions = { since?: Date; account: string; json?: boolean }

/** Adds `resync`. */
export function addResyncVerb(program: Command, run: Run): void {
  program
    .command('resync [paths...]')
    .description('fetch activities again, every sample of them, and rewrite them')
    .option('--since <day>', 'every activity that started on this day (UTC) or later', readDay)
    .option('--account <account>', 'whose activities', 'default')
    .option('--json', 'print the counts as one JSON object')
    .action((paths: string[], options: ResyncOptions) =>
      run((context) => resync(context, paths, options), { quiet: true }),
    )
}

async function resync(context: Context, paths: readonly string[], options: ResyncOptions): Promise<number> {
  const { since, account } = options
  if (paths.length > 0 === (since !== undefined)) {
    throw new ConfigError(
      'bad_usage',
      'name the paths of the activities, or the first day with --since; run: musette resync --help',
    )
  }
  const startedAt = Date.now()
  tuneForPass()
  const house = await openHouse(context.config, context.log, { signal: context.signal, byHand: true })
  const line = makeProgressLine(context, 'activities')
  try {
    const { reason, ...counts } = await resyncAccount(house, {
      name: account,
      choice: since ? { since } : { paths },
      signal: context.signal,
      onProgress: (now) => line.show(now),
    })
    const why = reason === undefined ? '' : ` (${reason})`
    const failed = counts.failed > 0 ? `, ${counts.failed} failed${why}; run: musette status` : ''
    line.finish(`account "${account}": ${counts.marked} marked, ${counts.fetched} fetched${failed}`)
    const duration = Date.now() - startedAt
    if (options.json) context.printJson({ account, ...counts, duration_ms: duration })
    return counts.failed > 0 ? EXIT.partial : EXIT.done
  } finally {
    line.close()
    await house.close()
  }
}

function readDay(text: string): Date {
  const day = parseDay(text)
  if (day) return day
  throw new ConfigError(
    'bad_usage',
    `"${text}" is not a day of the calendar; write for example --since 2024-01-31`,
  )
}
