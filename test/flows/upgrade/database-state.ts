import { queryOnce } from '../../kit/postgres.ts'

/** Tables that a daemon writes even while nothing changes at the service, and columns that each poll may set. */
const ALWAYS_WRITTEN = ['sync_runs', 'sync_cursors', 'waiting_files', 'locks', 'callers', 'migrations']
const SET_BY_POLLS = ['listed_at', 'next_fetch_at', 'last_seen_at']

type Table = { name: string; columns: string[] }

/** The content of the tables of both schemas: row counts, and a hash of the columns that existed at the first reading. */
export type Content = { tables: Table[]; rows: Record<string, unknown> }

/** Reads the content of a database; with `like` only the columns of that content, regardless of columns added since. */
export async function contentOf(url: string, like?: Content): Promise<Content> {
  const tables = like?.tables ?? (await findTables(url))
  const selects = tables.map(({ name, columns }) => {
    const row = `row(${columns.map((column) => `"${column}"`).join(', ')})::text`
    return `select '${name}' as name, count(*) || ' rows, ' || md5(coalesce(string_agg(${row}, E'\\n' order by ${row}), '')) as content
      from ${name}`
  })
  const found = await queryOnce(url, selects.join(' union all '))
  const rows = Object.fromEntries(found.map(({ name, content }) => [name, content]))
  return { tables, rows }
}

async function findTables(url: string): Promise<Table[]> {
  const rows = await queryOnce(
    url,
    `select n.nspname || '.' || c.relname as name,
       array(select attname::text from pg_attribute
         where attrelid = c.oid and attnum > 0 and not attisdropped and attname <> all ($2) order by attnum) as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('training', 'musette') and c.relkind = 'r' and c.relname <> all ($1) order by 1`,
    [ALWAYS_WRITTEN, SET_BY_POLLS],
  )
  return rows as Table[]
}
