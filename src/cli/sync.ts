import type { Command } from 'commander'
import { openHouse } from '../daemon/house.ts'
import { syncAccount } from '../daemon/sync.ts'
import type { Run } from './cli.ts'
import type { Context } from './context.ts'
import { EXIT } from './exit.ts'
import { makeProgressLine } from './progress.ts'

/** Adds `sync`. */
export function addSyncVerb(program: Command, run: Run): void {
  program
    .command('sync [account]')
    .description('mirror every known change in one pass, in this process, without the queue')
    .option('--json', 'print the counts as one JSON object')
    .action((account: string | undefined, options: { json?: boolean }) =>
      run((context) => sync(context, account ?? 'default', options), { quiet: true }),
    )
}

async function sync(context: Context, name: string, options: { json?: boolean }): Promise<number> {
  const startedAt = Date.now()
  const house = await openHouse(context.config, context.log)
  try {
    const line = makeProgressLine(context, 'activities')
    const counts = await syncAccount(house, {
      name,
      signal: context.signal,
      onProgress: (now) => line.show(now),
    })
    const result = { account: name, ...counts, duration_ms: Date.now() - startedAt }
    const pending = counts.pending > 0 ? `, ${counts.pending} not there yet` : ''
    const failed = counts.failed > 0 ? `, ${counts.failed} failed; run: musette status` : ''
    line.finish(
      `account "${name}": ${counts.listed} listed, ${counts.fetched} fetched, ${counts.unchanged} unchanged${pending}${failed}`,
    )
    if (options.json) context.print(JSON.stringify(result))
    return counts.failed > 0 ? EXIT.partial : EXIT.done
  } finally {
    await house.close()
  }
}
