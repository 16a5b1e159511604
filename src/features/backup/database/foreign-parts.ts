import { readFile } from 'node:fs/promises'
import {
  CREATE_JOURNAL,
  migrationsFolder,
  readJournal,
} from '../../../core/store/migration/schema-version.ts'
import type { Tx } from '../../../core/store/store.ts'
import { type BackupTable, findColumns, quoteName } from './tables.ts'

/** Our objects that no migration makes: the migration lock, and the policies that limit logins to one account. */
const MADE_ELSEWHERE = [
  'view musette.lock_migration',
  'policy everyone',
  'policy musette_account',
  'policy musette_one_account',
]

/**
 * Finds the foreign objects in our schemas, each with a readable name: `table training.mine`, `index training.mine`, `grant SELECT on
 * training.activities to grafana`. Does not list a foreign table's own indexes, grants and other parts.
 */
export async function findForeignParts(tx: Tx, tables: readonly BackupTable[]): Promise<string[]> {
  const known = new Map(tables.map(({ name, columns }) => [name, columns]))
  const columns = [...(await findColumns(tx.client))].flatMap(([name, present]) => {
    const ours = known.get(name)
    if (!ours) return [`table ${name}`]
    return present.filter((column) => !ours.includes(column)).map((column) => `column ${name}.${column}`)
  })
  const own = await readOwnObjects()
  const { rows } = await tx.client.query<{ part: string; name: string | null; comment: string | null }>(
    OBJECTS,
    // No backup contains the journal of the migrations.
    [[...known.keys(), 'musette.migrations'].map(quoteName)],
  )
  const isOwn = ({ name, comment }: (typeof rows)[number]) =>
    (name !== null && own.names.has(name)) || (comment !== null && own.comments.has(comment))
  return [...columns, ...rows.filter((row) => !isOwn(row)).map(({ part }) => part)]
}

/** Finds the foreign objects on our server outside our schemas, each with a readable name: tables, logins, settings, databases. */
export async function findServerParts(tx: Tx): Promise<string[]> {
  const { rows } = await tx.client.query<{ part: string }>(
    `SELECT o.type || ' ' || o.identity AS part
     FROM (SELECT 'pg_class'::regclass AS classid, oid, relnamespace AS schema FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
       UNION ALL SELECT 'pg_proc'::regclass, oid, pronamespace FROM pg_proc) AS j
       JOIN pg_namespace n ON n.oid = j.schema, pg_identify_object(j.classid, j.oid, 0) o
     WHERE n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'training', 'musette', 'bullmq') AND NOT EXISTS (
       SELECT FROM pg_depend d WHERE d.classid = j.classid AND d.objid = j.oid AND d.deptype = 'e')
     UNION ALL SELECT 'extension ' || extname FROM pg_extension WHERE extname <> 'plpgsql'
     UNION ALL SELECT 'login ' || rolname FROM pg_roles WHERE oid >= 16384 AND rolcanlogin
       AND coalesce(shobj_description(oid, 'pg_authid'), '') !~ '; made by musette$'
     UNION ALL SELECT 'database ' || datname FROM pg_database
       WHERE oid >= 16384 AND datname <> current_database() AND datname !~ '^musette_verify_'
     UNION ALL SELECT 'setting ' || name FROM pg_file_settings WHERE sourcefile LIKE '%postgresql.auto.conf'
     ORDER BY 1`,
  )
  return rows.map(({ part }) => part)
}

const MADE = /CREATE (?:OR REPLACE |UNIQUE |CONSTRAINT )*(INDEX|VIEW|FUNCTION|TRIGGER) "?([\w.]+)/g
const CONSTRAINT = /CONSTRAINT "?(\w+)/g
const COMMENT = /COMMENT ON [^']+ IS '((?:[^']|'')*)'/g

/** Reads the migrations' objects, as `kind name`, and the texts of their comments. */
async function readOwnObjects(): Promise<{ names: Set<string>; comments: Set<string> }> {
  const texts = await Promise.all(
    (await readJournal()).map(({ tag }) => readFile(`${migrationsFolder()}/${tag}.sql`, 'utf8')),
  )
  const sql = [...texts, CREATE_JOURNAL].join('\n')
  const made = Array.from(sql.matchAll(MADE), ([, kind = '', name]) => `${kind.toLowerCase()} ${name}`)
  const constraints = Array.from(sql.matchAll(CONSTRAINT), ([, name]) => `constraint ${name}`)
  const comments = Array.from(sql.matchAll(COMMENT), ([, text = '']) => text.replaceAll("''", "'"))
  return { names: new Set([...made, ...constraints, ...MADE_ELSEWHERE]), comments: new Set(comments) }
}

/**
 * Selects the objects in our schemas and on our tables ($1), each with its name as in `readOwnObjects`, or with its comment. An object that
 * has neither is foreign: an extension, a publication, or a grant to anyone but the readers.
 */
const OBJECTS = `
  WITH schemas AS (SELECT oid, nspname, nspowner, nspacl FROM pg_namespace WHERE nspname IN ('training', 'musette')),
  tables AS (SELECT unnest($1::text[]::regclass[]::oid[]) AS oid),
  -- What belongs to an extension comes with it; a table of others comes with all that is on it.
  objects (classid, objid, name) AS (
    SELECT 'pg_class'::regclass, c.oid, CASE c.relkind WHEN 'v' THEN format('view %s.%s', s.nspname, c.relname) END
    FROM pg_class c JOIN schemas s ON s.oid = c.relnamespace
    WHERE c.relkind IN ('v', 'm', 'f', 'c') OR c.relkind = 'S' AND NOT EXISTS (
      SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i'))
    UNION ALL
    SELECT 'pg_class'::regclass, x.oid, 'index ' || x.relname
    FROM pg_index i JOIN tables t ON t.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
    WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = x.oid AND k.contype IN ('p', 'u', 'x'))
    UNION ALL
    SELECT 'pg_constraint'::regclass, k.oid, 'constraint ' || k.conname
    FROM pg_constraint k JOIN tables t ON t.oid = k.conrelid WHERE k.contype IN ('c', 'f', 'u', 'x')
    UNION ALL
    SELECT 'pg_trigger'::regclass, g.oid, 'trigger ' || g.tgname
    FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid JOIN schemas s ON s.oid = c.relnamespace
    WHERE NOT g.tgisinternal AND (c.relkind = 'v' OR c.oid IN (SELECT oid FROM tables))
    UNION ALL
    SELECT 'pg_policy'::regclass, p.oid, 'policy ' || p.polname FROM pg_policy p JOIN tables t ON t.oid = p.polrelid
    UNION ALL
    SELECT 'pg_rewrite'::regclass, r.oid, NULL
    FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class JOIN schemas s ON s.oid = c.relnamespace
    WHERE r.rulename <> '_RETURN' AND (c.relkind = 'v' OR c.oid IN (SELECT oid FROM tables))
    UNION ALL
    SELECT 'pg_statistic_ext'::regclass, e.oid, NULL FROM pg_statistic_ext e JOIN tables t ON t.oid = e.stxrelid
    UNION ALL
    SELECT 'pg_proc'::regclass, p.oid, format('function %s.%s', s.nspname, p.proname)
    FROM pg_proc p JOIN schemas s ON s.oid = p.pronamespace
    UNION ALL
    SELECT 'pg_type'::regclass, y.oid, NULL
    FROM pg_type y JOIN schemas s ON s.oid = y.typnamespace WHERE y.typtype IN ('d', 'e', 'r')
    UNION ALL
    SELECT 'pg_extension'::regclass, e.oid, NULL FROM pg_extension e JOIN schemas s ON s.oid = e.extnamespace
  ),
  -- Every relation and function; of the tables only ours.
  granted (classid, objid, subid, kind, owner, acl) AS (
    SELECT 'pg_namespace'::regclass, oid, 0, 'n', nspowner, nspacl FROM schemas
    UNION ALL
    SELECT 'pg_class'::regclass, c.oid, 0, 'r', c.relowner, c.relacl
    FROM pg_class c JOIN schemas s ON s.oid = c.relnamespace
    WHERE c.relkind IN ('v', 'm', 'f', 'S') OR c.oid IN (SELECT oid FROM tables)
    UNION ALL
    SELECT 'pg_class'::regclass, c.oid, a.attnum, 'c', c.relowner, a.attacl
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN schemas s ON s.oid = c.relnamespace
    WHERE c.relkind = 'v' OR c.oid IN (SELECT oid FROM tables)
    UNION ALL
    SELECT 'pg_proc'::regclass, p.oid, 0, 'f', p.proowner, p.proacl FROM pg_proc p JOIN schemas s ON s.oid = p.pronamespace
  ),
  grants AS (
    SELECT o.identity AS thing, CASE g.kind WHEN 'n' THEN 'schema ' ELSE '' END AS label, a.grantee,
      string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type) AS privileges
    FROM granted g, aclexplode(g.acl) a, pg_identify_object(g.classid, g.objid, g.subid) o
    WHERE a.grantee <> g.owner AND NOT (a.grantee = 0 AND (g.kind = 'f' OR o.identity = 'musette.ride_tracks' AND a.privilege_type = 'SELECT'))
      AND (a.grantee IN (to_regrole('musette_reader'), to_regrole('musette_one_account')) AND o.identity ~ '^training(\\.|$)'
        AND a.privilege_type = CASE g.kind WHEN 'n' THEN 'USAGE' WHEN 'r' THEN 'SELECT' END) IS NOT TRUE
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT s.nspname, 'all later objects of schema ', a.grantee, string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type)
    FROM pg_default_acl d JOIN schemas s ON s.oid = d.defaclnamespace, aclexplode(d.defaclacl) a
    WHERE (a.grantee = to_regrole('musette_reader') AND s.nspname = 'training' AND d.defaclobjtype = 'r'
      AND a.privilege_type = 'SELECT') IS NOT TRUE
    GROUP BY 1, 2, 3
  )
  SELECT o.type || ' ' || o.identity AS part, j.name, NULL AS comment
  FROM objects j, pg_identify_object(j.classid, j.objid, 0) o
  WHERE o.identity IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = j.classid AND d.objid = j.objid AND d.deptype = 'e')
  UNION ALL
  SELECT 'comment on ' || o.type || ' ' || o.identity, NULL, d.description
  FROM pg_description d, pg_identify_object(d.classoid, d.objoid, d.objsubid) o
  -- Postgres numbers its own objects below.
  WHERE d.objoid >= 16384 AND o.identity ~ '(^| on )(training|musette)(\\.|$)'
    AND d.objoid <> 'musette.lock_migration'::regclass
    AND NOT EXISTS (
      SELECT FROM pg_class c WHERE d.classoid = 'pg_class'::regclass AND c.oid = d.objoid
        AND c.relkind IN ('r', 'p') AND c.oid NOT IN (SELECT oid FROM tables))
    AND NOT EXISTS (
      SELECT FROM pg_depend e WHERE e.classid = d.classoid AND e.objid = d.objoid AND e.deptype = 'e')
  UNION ALL
  SELECT format('grant %s on %s to %s', privileges,
      array_to_string((array_agg(label || thing ORDER BY thing))[1:3], ', ')
        || CASE WHEN count(*) > 3 THEN format(' and %s more', count(*) - 3) ELSE '' END,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END),
    NULL, NULL
  FROM grants GROUP BY grantee, privileges
  UNION ALL
  SELECT DISTINCT 'publication ' || quote_ident(pubname), NULL, NULL
  FROM pg_publication_tables WHERE schemaname IN ('training', 'musette')
  ORDER BY 1`
