import { z } from 'zod'
import { each, makeAnswer, makeTool, makeUnknown, number, text } from './tool.ts'

const ACCOUNTS = `
  select a.name as account, t.day::text as today, min(x.started_at_local)::date::text as first_day,
    max(x.started_at_local)::date::text as last_day, count(x.activity_id) as activities,
    count(x.activity_id) filter (where x.detail_state = 'mirrored') as with_details,
    (select to_char(training.local_time(h.at, 'UTC'), 'YYYY-MM-DD HH24:MI:SS"Z"') from training.mirror_health h
      where h.account_id = a.account_id and h.item = 'last good poll') as last_good_poll_utc,
    a.needs_login, a.last_error
  from training.accounts a
  left join training.today t using (account_id)
  left join training.activities x on x.account_id = a.account_id and x.absent_since is null
  group by a.account_id, a.name, t.day, a.needs_login, a.last_error
  order by a.name`

const RELATIONS = `
  select c.relname as name, case when c.relkind = 'v' then 'view' else 'table' end as kind,
    case when $1::text is null then substring(obj_description(c.oid, 'pg_class') from '^.*?[.](?= |$)')
      else obj_description(c.oid, 'pg_class') end as meaning,
    case when $1::text is null then null else (
      select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
        'meaning', col_description(c.oid, a.attnum)) order by a.attnum)
      from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) end as columns
  from pg_class c
  where c.relnamespace = 'training'::regnamespace and c.relkind in ('r', 'p', 'v') and c.relname = coalesce($1, c.relname)
  order by kind, name`

const accountShape = z.object({
  account: z.string(),
  ...each(text, 'today first_day last_day last_good_poll_utc last_error'),
  activities: z.number(),
  with_details: z.number(),
  needs_login: z.boolean(),
})
const column = z.object({ name: z.string(), type: z.string(), meaning: text })
const relation = z.object({
  name: z.string(),
  kind: z.string(),
  meaning: text,
  columns: z.array(column).nullable(),
})

export const whatIsHere = makeTool({
  name: 'what_is_here',
  title: 'What is here',
  description:
    'Accounts with first day, last day and last poll; tables and views. With table: its columns, units and meanings.',
  input: z.object({ table: z.string().max(63).optional().describe('such as activities') }),
  output: { accounts: z.array(accountShape), tables: z.array(relation), accounts_total: number },
  async run({ query }, input) {
    const table = input.table?.replace(/^training\./, '') ?? null
    const accounts = await query(ACCOUNTS)
    const tables = await query(RELATIONS, [table])
    if (tables.length === 0)
      return makeUnknown(
        `table or view "${table}"`,
        (await query(RELATIONS, [null])).map(({ name }) => name),
      )
    return makeAnswer({
      data: { accounts: accounts.slice(0, 50), accounts_total: accounts.length, tables },
      list: 'tables',
      narrower: 'Name a table, or read training.accounts with run_query.',
    })
  },
})
