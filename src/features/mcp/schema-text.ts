import type { Query } from './json-rows.ts'

/**
 * Describes schema `training` as Markdown, from the database's comments; `origin` is a paragraph that says where the returned text comes
 * from. The query must run with only pg_catalog on the search path, so that Postgres qualifies every name with its schema.
 */
export async function describeSchema(query: Query, origin: string): Promise<string> {
  const [found] = await query(DESCRIBED)
  const { comment, tables, views, functions, sections } = found ?? {}
  const links = [tables && `## Tables\n\n${tables}`, views && `## Views\n\n${views}`].filter(Boolean)
  const parts = [comment, origin, ...links, '## Functions', functions, sections]
  return `${['# The schema `training`', ...parts].join('\n\n')}\n`
}

/** Escapes Markdown: a bar ends a table cell, an angle bracket begins HTML, and a star begins emphasis. */
const escaped = (text: string) =>
  `regexp_replace(regexp_replace(${text}, '[|<>*]', '\\\\\\&', 'g'), '\\s*\\n\\s*', ' ', 'g')`

// Tables first, then views, each by name. For the columns of views, Postgres does not report whether they can be NULL. NOT NULL constraints
// are left out because only Postgres 18 and later list them. An index that belongs to a constraint is left out.
const DESCRIBED = `
  with relation as (
    select c.oid, c.relname as name, c.relkind in ('r', 'p') as is_table, coalesce(obj_description(c.oid, 'pg_class'), '') as comment
    from pg_class c where c.relnamespace = 'training'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
  ), described as (
    select is_table, name, comment,
      format('- [%1$s](#%1$s): ', name) || ${escaped(`coalesce(substring(comment from '^.*?[.](?=\\s|$)'), comment)`)} as link,
      (select string_agg(format('| \`%s\` | %s | %s%s |', attname, format_type(atttypid, atttypmod),
           case when is_table then case when attnotnull then ' | ' else 'yes | ' end else '' end,
           ${escaped(`coalesce(col_description(attrelid, attnum), '')`)}), E'\\n' order by attnum)
         from pg_attribute where attrelid = r.oid and attnum > 0 and not attisdropped) as columns,
      (select string_agg('- \`' || pg_get_constraintdef(oid) || '\`', E'\\n'
           order by array_position(array['p', 'u', 'f', 'c'], contype::text), conname)
         from pg_constraint where conrelid = r.oid and contype in ('p', 'u', 'f', 'c')) as constraints,
      (select string_agg('- \`' || replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') || '\`', E'\\n' order by indexrelid::regclass::text)
         from pg_index i where indrelid = r.oid and not exists (
           select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = r.oid)) as indexes
    from relation r
  )
  select coalesce(obj_description('training'::regnamespace, 'pg_namespace'), '') as comment,
    string_agg(link, E'\\n' order by name) filter (where is_table) as tables,
    string_agg(link, E'\\n' order by name) filter (where not is_table) as views,
    (select string_agg(format('- \`training.%s(%s) returns %s\`: ', proname, pg_get_function_arguments(oid), pg_get_function_result(oid))
         || ${escaped(`coalesce(obj_description(oid, 'pg_proc'), '')`)}, E'\\n'
         order by format('training.%s(%s) returns %s', proname, pg_get_function_arguments(oid), pg_get_function_result(oid)))
       from pg_proc where pronamespace = 'training'::regnamespace) as functions,
    string_agg(concat_ws(E'\\n\\n', '## ' || name, ${escaped('comment')},
      case when is_table then E'| column | type | may be NULL | meaning |\\n| --- | --- | --- | --- |\\n'
        else E'| column | type | meaning |\\n| --- | --- | --- |\\n' end || columns,
      nullif(concat_ws(E'\\n', constraints, indexes), '')), E'\\n\\n' order by is_table desc, name) as sections
  from described`
