import type { Command } from 'commander'
import type { Change } from '../../store/feed/change-rows.ts'
import { type Context, EXIT, type Run } from '../context.ts'
import { wholeNumber } from '../output.ts'
import { withLocalApp } from '../with-app.ts'

type ChangesOptions = { since: number; follow?: boolean; account?: string; json?: boolean }

/** As many columns of a change as are shown with their values. */
const SHOWN = 3

/** Adds the verb `changes` to the program. */
export function addChangesVerb(program: Command, run: Run): void {
  program
    .command('changes')
    .description('show what became different in the mirror, oldest first')
    .option('--since <number>', 'only changes after the one with this number', wholeNumber, 0)
    .option('--follow', 'go on with the changes to come')
    .option('--account <name>', 'only the changes of this account')
    .option('--json', 'each change as one line of JSON')
    .action((options: ChangesOptions) => run((context) => changes(context, options)))
}

async function changes(context: Context, options: ChangesOptions): Promise<number> {
  const { since, follow = false, account, json } = options
  const { accountNamed } = await import('../../app/local-app.ts')
  const { readChanges } = await import('../../app/change-feed.ts')
  return withLocalApp(context, async (app) => {
    const accountId = account === undefined ? undefined : (await accountNamed(app, account)).accountId
    const { signal } = context
    for await (const page of readChanges(app, { since, follow, accountId, signal })) {
      for (const change of page) {
        if (json) context.printJson(toJson(change))
        else context.print(lineOf(change))
      }
    }
    return signal.aborted && !follow ? EXIT.interrupted : EXIT.done
  })
}

function toJson({ changeId, accountId, ...change }: Change) {
  return { change_id: changeId, account_id: accountId, ...change }
}

function lineOf({ changeId, at, account, kind, path, detail }: Change): string {
  const moment = at.slice(0, 19).replace('T', ' ')
  const values = Object.entries(detail).filter(([name, value]) => value !== null && !name.endsWith('_id'))
  const shown = values
    .slice(0, SHOWN)
    .map(([name, value]) => `${name} ${textOf(value, kind.endsWith('.changed'))}`)
  const more = values.length > SHOWN ? [`and ${values.length - SHOWN} more`] : []
  const parts = [
    changeId,
    moment,
    account ?? (kind === 'restored' ? 'all accounts' : 'default list'),
    kind,
    path ?? '',
    [...shown, ...more].join(', '),
  ]
  return parts.filter((part) => part !== '').join('  ')
}

function textOf(value: unknown, changed: boolean): string {
  return changed && Array.isArray(value)
    ? value.map((part) => JSON.stringify(part)).join(' to ')
    : JSON.stringify(value)
}
