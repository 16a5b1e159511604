import { setFlagsFromString } from 'node:v8'
import type { Command } from 'commander'
import type { SyncCounts } from '../../app/sync-account.ts'
import { ConfigError } from '../../kit/errors.ts'
import { parseDay } from '../../kit/time.ts'
import { type Context, EXIT, type Run } from '../context.ts'
import { makeProgressLine } from '../progress.ts'

type SyncOptions = { full?: boolean; acceptRemovals?: boolean; json?: boolean }

/** Adds the verb `sync` to the program. */
export function addSyncVerb(program: Command, run: Run): void {
  program
    .command('sync [account]')
    .description('mirror every known change in one pass, in this process, without the queue')
    .option(
      '--full',
      'also compare the whole list with the mirror: finds removals, and edits that were missed',
    )
    .option('--accept-removals', 'with --full: accept any number of removed activities')
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
  await tuneForPass()
  const { openApp } = await import('../../app/app.ts')
  const { syncAccount } = await import('../../app/sync-account.ts')
  const app = await openApp(context.config, context.log, { signal: context.signal, byHand: true })
  const line = makeProgressLine(context, 'activities')
  try {
    const counts = await syncAccount(app, {
      name,
      full,
      acceptRemovals,
      training: true,
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
    await app.close()
  }
}

/** Returns a sentence about the changes of a pass and the activities that are not mirrored, with reason and next command. */
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

type ResyncOptions = { since?: Date; account: string; json?: boolean }

/** Adds the verb `resync` to the program. */
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
  await tuneForPass()
  const { openApp } = await import('../../app/app.ts')
  const { resyncAccount } = await import('../../app/sync-account.ts')
  const app = await openApp(context.config, context.log, { signal: context.signal, byHand: true })
  const line = makeProgressLine(context, 'activities')
  try {
    const { reason, ...counts } = await resyncAccount(app, {
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
    await app.close()
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

/**
 * V8's flags for a short pass. Response bodies are outside V8's heap and large compared with it, but V8 counts them as heap
 * growth: with the default it collects the whole heap every third activity, which costs a fifth of the processor time. So the
 * heap may grow to six times its live size. Without on-stack replacement a hot function is compiled once, for its next call,
 * and not another time for the loop that runs.
 */
const FLAGS = ['--heap-growing-percent=500', '--no-use-osr']

/** Node 20's V8 optimizes functions earlier and longer than a pass of a second repays; newer versions have other flags. */
const FLAGS_OF_NODE_20 = ['--interrupt-budget=400000', '--turbo-force-mid-tier-regalloc']

/**
 * Configures V8 and zod for a process that ends with its pass: they compile less and use more memory. The daemon keeps the
 * defaults, because it would use that memory for its whole life.
 */
async function tuneForPass(): Promise<void> {
  const isNode20 = process.versions.node.startsWith('20.')
  for (const flag of isNode20 ? [...FLAGS, ...FLAGS_OF_NODE_20] : FLAGS) setFlagsFromString(flag)
  const { z } = await import('zod')
  // zod compiles a function for each schema, which is only faster after thousands of answers.
  z.config({ jitless: true })
}
