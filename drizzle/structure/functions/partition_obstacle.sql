-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0029_partitions
CREATE OR REPLACE FUNCTION musette.partition_obstacle(parent regclass) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT min(part) FROM (
    SELECT 'publication ' || quote_ident(p.pubname) AS part FROM pg_publication_tables p JOIN pg_class c ON c.oid = parent
    WHERE (p.schemaname, p.tablename) = (c.relnamespace::regnamespace::text, c.relname)
    UNION ALL SELECT 'trigger ' || quote_ident(tgname) FROM pg_trigger WHERE tgrelid = parent AND NOT tgisinternal
    UNION ALL SELECT 'rule ' || quote_ident(rulename) FROM pg_rewrite WHERE ev_class = parent
    UNION ALL SELECT 'statistics ' || quote_ident(stxname) FROM pg_statistic_ext WHERE stxrelid = parent
    UNION ALL SELECT 'policy ' || quote_ident(polname) FROM pg_policy
      WHERE polrelid = parent AND polname NOT IN ('everyone', 'musette_account', 'musette_one_account')
    UNION ALL SELECT 'constraint ' || quote_ident(conname) FROM pg_constraint WHERE conrelid = parent AND contype IN ('p', 'u', 'f', 'x')
    UNION ALL SELECT 'table ' || inhrelid::regclass FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
      WHERE inhparent = parent AND c.relnamespace <> 'musette'::regnamespace
    UNION ALL SELECT 'materialized view ' || v.oid::regclass FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
      WHERE d.classid = 'pg_rewrite'::regclass AND (d.refclassid, d.refobjid) = ('pg_class'::regclass, parent) AND v.relkind = 'm'
    UNION ALL SELECT 'function ' || d.objid::regprocedure FROM pg_depend d JOIN pg_class c ON c.oid = parent
      WHERE d.classid = 'pg_proc'::regclass AND (d.refclassid, d.refobjid) IN (('pg_class'::regclass, parent), ('pg_type'::regclass, c.reltype))
    UNION ALL SELECT 'view ' || v.oid::regclass FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
      WHERE d.classid = 'pg_rewrite'::regclass AND (d.refclassid, d.refobjid) = ('pg_class'::regclass, parent)
        AND v.relkind = 'v' AND NOT pg_has_role(v.relowner, 'USAGE')
  ) parts
$$;

-- Comments, last changed by 0029_partitions
COMMENT ON FUNCTION musette.partition_obstacle(regclass) IS 'What others have made on a table that cannot be brought over to a partitioned one; NULL without any.';
