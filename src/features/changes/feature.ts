import type { Change } from '../../core/store/feed/change-rows.ts'
import { quoteName } from '../../kit/text.ts'
import { EXIT } from '../../program/frame/context.ts'
import { defineFeature } from '../../program/frame/define-feature.ts'
import { DATABASE, SIGNED_IN } from '../../program/frame/help-of-verbs.ts'
import { wholeNumber } from '../../program/frame/output.ts'
import { defineVerb, flag, option } from '../../program/frame/verb.ts'

/** Maximum number of changed columns that are shown with their values. */
const SHOWN = 3

const changesVerb = defineVerb({
  name: 'changes',
  description: 'show what changed in the mirror, oldest first',
  options: {
    since: option('--since <number>', 'only changes after the one with this number', wholeNumber, 0),
    follow: flag('--follow', 'continue with new changes as they arrive'),
    only: option('--account <name>', 'only the changes of this account'),
    json: flag('--json', 'each change as one line of JSON'),
  },
  help: {
    notes: [
      'Each line is one change, in the order of the commits. A program continues with --since and the highest number that it has read; docs/schema.md explains kind and detail. Changes are kept for 90 days.',
      '--follow continues through outages of the database. It ends on Ctrl-C, or at the next change after its reader has exited.',
    ],
    settings: DATABASE,
    exits: SIGNED_IN,
    examples: ['musette changes --since 120 --follow --json'],
  },
  needs: 'reading',
  async run({ app, signal, print, printJson }, { since, follow = false, only, json }) {
    const { accountNamed } = await import('../../program/app/local-app.ts')
    const { readChanges } = await import('./change-feed.ts')
    const accountId = only === undefined ? undefined : (await accountNamed(app, only)).accountId
    for await (const page of readChanges(app, { since, follow, accountId, signal })) {
      for (const change of page) {
        const { changeId, accountId: account_id, ...rest } = change
        if (json) printJson({ change_id: changeId, account_id, ...rest })
        else print(lineOf(change))
      }
    }
    return signal.aborted && !follow ? EXIT.interrupted : EXIT.done
  },
})

function lineOf({ changeId, at, account, kind, path, detail }: Change): string {
  const values = Object.entries(detail).filter(([name, value]) => value !== null && !/_id$|^raw$/.test(name))
  const shown = values.slice(0, SHOWN).map(([name, value]) => {
    const states: unknown[] = kind.endsWith('.changed') && Array.isArray(value) ? value : [value]
    return `${name} ${states.map((state) => JSON.stringify(state)).join(' to ')}`
  })
  const more = values.length > SHOWN ? [`and ${values.length - SHOWN} more`] : []
  const parts = [
    changeId,
    at.slice(0, 19).replace('T', ' '),
    account ?? (kind === 'restored' ? 'all accounts' : 'default list'),
    kind,
    path === null ? '' : quoteName(path),
    [...shown, ...more].join(', '),
  ]
  return parts.filter((part) => part !== '').join('  ')
}

export const changes = defineFeature({
  name: 'changes',
  verbs: { after: 'config', all: [changesVerb] },
})
