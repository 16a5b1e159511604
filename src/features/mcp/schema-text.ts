import type { Query } from './json-rows.ts'

/**
 * Describes schema `training` as Markdown, from the comments of the database; `origin` is a paragraph about the text itself.
 * The query must run with nothing but pg_catalog on the search path: then Postgres writes every name with its schema.
 */
export async function describeSchema(query: Query, origin: string): Promise<string> {
  const schema = await query(
    `select coalesce(obj_description('training'::regnamespace, 'pg_namespace'), '') as comment`,
  )
  const relations = (await query(RELATIONS)) as unknown as Relation[]
  const functions = (await query(FUNCTIONS)) as unknown as SqlFunction[]
  return formatCatalog({ comment: String(schema[0]?.comment ?? ''), relations, functions, origin })
}

type Column = { name: string; type: string; nullable: boolean; comment: string }
type Relation = {
  name: string
  kind: 'table' | 'view'
  comment: string
  columns: Column[]
  /** primary key, unique, foreign keys and checks, as Postgres writes them */
  constraints: string[]
  /** definitions of the indexes that stand behind no constraint */
  indexes: string[]
}
type SqlFunction = { signature: string; comment: string }
type Catalog = { comment: string; relations: Relation[]; functions: SqlFunction[]; origin: string }

// Tables first, then views, by name. Constraints that only repeat NOT NULL are left out: Postgres 18 lists them, older ones do not.
const RELATIONS = `
  select c.relname as name, case when c.relkind in ('r', 'p') then 'table' else 'view' end as kind,
    coalesce(obj_description(c.oid, 'pg_class'), '') as comment,
    (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
         'nullable', not a.attnotnull, 'comment', coalesce(col_description(c.oid, a.attnum), '')) order by a.attnum)
       from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
    array_to_json(array(select pg_get_constraintdef(k.oid) from pg_constraint k
       where k.conrelid = c.oid and k.contype in ('p', 'u', 'f', 'c')
       order by array_position(array['p', 'u', 'f', 'c'], k.contype::text), k.conname)) as constraints,
    array_to_json(array(select pg_get_indexdef(i.indexrelid) from pg_index i
       where i.indrelid = c.oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = c.oid)
       order by i.indexrelid::regclass::text)) as indexes
  from pg_class c
  where c.relnamespace = 'training'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
  order by kind, name`

const FUNCTIONS = `
  select format('training.%s(%s) returns %s', proname, pg_get_function_arguments(oid), pg_get_function_result(oid)) as signature,
    coalesce(obj_description(oid, 'pg_proc'), '') as comment
  from pg_proc where pronamespace = 'training'::regnamespace order by 1`

/** Writes the data dictionary as Markdown. */
function formatCatalog({ comment, relations, functions, origin }: Catalog): string {
  const tables = relations.filter(({ kind }) => kind === 'table')
  const views = relations.filter(({ kind }) => kind === 'view')
  return [
    '# The schema `training`',
    comment,
    origin,
    ...linksOf('Tables', tables),
    ...linksOf('Views', views),
    '## Functions',
    functions.map((each) => `- \`${each.signature}\`: ${escapeText(each.comment)}`).join('\n'),
    ...relations.flatMap(sectionOf),
  ]
    .join('\n\n')
    .concat('\n')
}

function linksOf(title: string, relations: readonly Relation[]): string[] {
  if (relations.length === 0) return []
  const lines = relations.map(({ name, comment }) => `- [${name}](#${name}): ${firstSentence(comment)}`)
  return [`## ${title}`, lines.join('\n')]
}

function sectionOf({ name, kind, comment, columns, constraints, indexes }: Relation): string[] {
  const rules = [...constraints, ...indexes].map((definition) => `- \`${definition}\``)
  return [
    `## ${name}`,
    escapeText(comment),
    tableOf(columns, kind),
    ...(rules.length > 0 ? [rules.join('\n')] : []),
  ]
}

// Of a view's columns Postgres does not say whether they can be NULL.
function tableOf(columns: readonly Column[], kind: Relation['kind']): string {
  const head =
    kind === 'table'
      ? '| column | type | may be NULL | meaning |\n| --- | --- | --- | --- |'
      : '| column | type | meaning |\n| --- | --- | --- |'
  const lines = columns.map(({ name, type, nullable, comment }) => {
    const cells = [
      `\`${name}\``,
      type,
      ...(kind === 'table' ? [nullable ? 'yes' : ''] : []),
      escapeText(comment),
    ]
    return `| ${cells.join(' | ')} |`
  })
  return [head, ...lines].join('\n')
}

function firstSentence(comment: string): string {
  return escapeText(/^.*?[.](?=\s|$)/s.exec(comment)?.[0] ?? comment)
}

// A bar ends a table's cell; an angle bracket or a star begins something else.
function escapeText(text: string): string {
  return text.replace(/[|<>*]/g, '\\$&').replace(/\s*\n\s*/g, ' ')
}
