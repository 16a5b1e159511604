import { z } from 'zod'
import { account, each, makeAnswer, makeFailure, makeTool, makeUnknown, text } from './tool.ts'

const JOINS =
  'from training.changes_settled c left join training.accounts a using (account_id) left join training.today t using (account_id)'
const WHERE = `
  where c.at >= now() - make_interval(days => $2) and ($1::text is null or a.name = $1 or c.kind = 'restored')`

const COUNTS = `select a.name as account, c.kind, count(*) as changes ${JOINS} ${WHERE} group by 1, 2 order by 1, 2`

// The detail of a `.new` change repeats the whole row, so it is left out; key and name are enough.
const CHANGES = `
  select c.change_id, a.name as account,
    to_char(training.local_time(c.at, coalesce(t.timezone, 'UTC')), 'YYYY-MM-DD HH24:MI:SS') as at_local, c.kind,
    c.path as key, x.name, to_char(x.started_at_local, 'YYYY-MM-DD HH24:MI') as started_at_local,
    case when c.kind like '%.new' then null else c.detail end as detail
  ${JOINS} left join training.activities x on x.account_id = c.account_id and x.path = c.path
  ${WHERE} and ($3::text is null or c.kind = $3) and ($4::bigint is null or c.change_id < $4)
  order by c.change_id desc limit 500`

const KNOWN = 'select change_id from training.changes_settled where change_id = $1'
const KINDS = 'select distinct kind from training.changes_settled order by 1'

export const recentChanges = makeTool({
  name: 'recent_changes',
  title: 'What changed recently',
  description: 'New and changed rows, newest first, with the values before and after.',
  input: z.object({
    account,
    days: z.number().int().min(1).max(90).default(7),
    kind: z.string().max(50).optional().describe('such as activity.changed'),
    before: z.number().int().min(1).optional().describe('only lower change_id'),
  }),
  output: {
    counts: z.array(z.object({ account: text, kind: z.string(), changes: z.number() })),
    changes: z.array(
      z.object({
        change_id: z.number(),
        kind: z.string(),
        ...each(text, 'account at_local key name started_at_local'),
        detail: z.record(z.string(), z.unknown()).nullable(),
      }),
    ),
  },
  async run({ query }, input) {
    const { kind, before } = input
    if (before !== undefined && (await query(KNOWN, [before])).length === 0)
      return makeFailure(
        `There is no change ${before}; ask without before, then with the lowest change_id returned.`,
      )
    const span = [input.account, input.days]
    const counts = await query(COUNTS, span)
    const changes = await query(CHANGES, [...span, kind, before])
    if (changes.length === 0 && kind !== undefined) {
      const kinds = (await query(KINDS)).map((one) => one.kind)
      if (!kinds.includes(kind)) return makeUnknown(`change of kind "${kind}"`, kinds)
    }
    return makeAnswer({
      data: { counts, changes },
      list: 'changes',
      leftOut: changes.length === 500,
      narrower: 'Ask for fewer days or one kind, or continue with before = the lowest change_id.',
    })
  },
})
