import type pg from 'pg'

export type Column = { name: string; type: string; nullable: boolean; comment: string }
export type Relation = {
  name: string
  kind: 'table' | 'view'
  comment: string
  columns: Column[]
  /** primary key, unique, foreign keys and checks, as Postgres writes them */
  constraints: string[]
  /** definitions of the indexes that stand behind no constraint */
  indexes: string[]
}
export type Catalog = { comment: string; relations: Relation[] }

/** Finds what the catalog says of schema `training`: tables first, then views, each kind by name. */
export async function findCatalog(client: pg.Client): Promise<Catalog> {
  // With nothing else on the path, Postgres writes every name with its schema.
  await client.query('SET search_path = pg_catalog')
  const [schema] = await rowsOf<{ comment: string }>(
    client,
    `select coalesce(obj_description('training'::regnamespace, 'pg_namespace'), '') as comment`,
  )
  return { comment: schema?.comment ?? '', relations: await rowsOf<Relation>(client, RELATIONS) }
}

// Constraints that say no more than a column's NOT NULL are left out: Postgres 18 lists them, older ones do not.
const RELATIONS = `
  select c.relname as name, case when c.relkind in ('r', 'p') then 'table' else 'view' end as kind,
    coalesce(obj_description(c.oid, 'pg_class'), '') as comment,
    (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
         'nullable', not a.attnotnull, 'comment', coalesce(col_description(c.oid, a.attnum), '')) order by a.attnum)
       from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
    array(select pg_get_constraintdef(k.oid) from pg_constraint k
       where k.conrelid = c.oid and k.contype in ('p', 'u', 'f', 'c')
       order by array_position(array['p', 'u', 'f', 'c'], k.contype::text), k.conname) as constraints,
    array(select pg_get_indexdef(i.indexrelid) from pg_index i
       where i.indrelid = c.oid and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = c.oid)
       order by i.indexrelid::regclass::text) as indexes
  from pg_class c
  where c.relnamespace = 'training'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
  order by kind, name`

async function rowsOf<Row extends object>(client: pg.Client, query: string): Promise<Row[]> {
  return (await client.query<Row>(query)).rows
}
