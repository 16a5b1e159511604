-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0029_partitions
CREATE OR REPLACE FUNCTION musette.leaves(parent regclass) RETURNS SETOF regclass LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.oid::regclass FROM pg_class c
  WHERE c.relkind = 'r' AND (c.oid = parent OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = parent))
$$;

-- Comments, last changed by 0029_partitions
COMMENT ON FUNCTION musette.leaves(regclass) IS 'The tables that hold the rows of a table: itself or its partitions, and both while rows are moved.';
