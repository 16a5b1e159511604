import { connect } from '../kit/connect.ts'
import { queryOnce } from '../kit/postgres.ts'

const SCHEMAS = `('training', 'musette')`

/** Selects one text a row; the heading of each part, and whether its texts have several lines. */
const PARTS: ReadonlyArray<[heading: string, query: string]> = [
  [
    'columns, by table or view',
    `select case when ordinal_position = 1 then format(E'%s %I.%I\n', case table_type when 'VIEW' then 'view' else 'table' end,
         table_schema, table_name) else '' end
       || format('  %s %I %s', ordinal_position, column_name,
         case data_type when 'ARRAY' then substr(udt_name, 2) || '[]' when 'USER-DEFINED' then udt_name else data_type end)
       || case is_nullable when 'NO' then ' not null' else '' end
       || coalesce(' default ' || column_default, '')
       || case is_identity when 'YES' then ' identity ' || lower(identity_generation) else '' end
       || coalesce(' generated as ' || generation_expression, '') as text
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema in ${SCHEMAS} order by table_schema desc, table_name, ordinal_position`,
  ],
  [
    'functions for queries',
    `select format('%s(%s) returns %s%s', p.oid::regproc, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
       case provolatile when 'i' then ' immutable' when 's' then ' stable' else '' end) as text
     from pg_proc p where pronamespace = 'training'::regnamespace and prorettype <> 'trigger'::regtype order by 1`,
  ],
  [
    'comments',
    `select format('%s: %s', pg_describe_object(classoid, objoid, objsubid), description) as text
     from pg_description cross join lateral pg_identify_object(classoid, objoid, 0) i
     where i.schema in ${SCHEMAS} or i.type = 'schema' and i.name in ${SCHEMAS}
     order by classoid::regclass::text, i.identity, objsubid`,
  ],
  [
    'definitions of views',
    `select format(E'%s:\n%s\n', oid::regclass, pg_get_viewdef(oid, true)) as text
     from pg_class where relkind = 'v' and relnamespace::regnamespace::text in ${SCHEMAS} order by oid::regclass::text`,
  ],
]

/** Describes what a database holds for queries: columns, functions, comments and views. */
export async function describeDatabase(url: string): Promise<string> {
  const client = await connect(url)
  try {
    // Every name is written with its schema.
    await client.query('SET search_path = pg_catalog')
    const parts: string[] = []
    for (const [heading, query] of PARTS) {
      const { rows } = await client.query<{ text: string }>(query)
      parts.push(`## ${heading}\n`, ...rows.map(({ text }) => text), '')
    }
    return parts.join('\n')
  } finally {
    await client.end()
  }
}

/** What happens to each kind of row, so that the feed has every kind of change but the one of a restore. */
const HAPPENINGS = [
  `delete from training.changes where kind ~ '(changed|absent|back)$' or kind like 'upload.%'`,
  `update training.activities set xss = xss + 1`,
  `update training.activities set absent_since = now()`,
  `update training.activities set absent_since = null`,
  `update training.training_info set ftp = ftp + 1`,
  `update training.workouts set name = name || '!'`,
  `update training.workouts set absent_since = now()`,
  `update training.workouts set absent_since = null`,
  `update training.accounts set needs_login = true, last_error = 'the password was changed'`,
  `update training.accounts set needs_login = false`,
  `insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at)
   select account_id, state, state || '.fit', 1, now() from training.accounts,
     unnest(array['accepted', 'mirrored', 'duplicate', 'refused']) state`,
  `update training.uploads set state = content_id where file_name = content_id || '.fit'`,
]

/** Makes every kind of change in a mirrored database, and describes each by the keys of its detail. */
export async function describeChanges(url: string): Promise<string> {
  for (const statement of HAPPENINGS) await queryOnce(url, statement)
  const rows = await queryOnce(
    url,
    `select format('%s: %s', kind, string_agg(distinct key, ', ')) as text
     from training.changes, jsonb_object_keys(detail) key group by kind order by kind`,
  )
  return rows.map(({ text }) => String(text)).join('\n')
}
