-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0029_partitions
CREATE OR REPLACE FUNCTION musette.add_partition(parent regclass, key name, width integer, number integer) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  about record;
  child text;
  rest text;
  bounds text := format('(%s) TO (%s)', CASE number WHEN 0 THEN 'MINVALUE' ELSE (number * width)::text END, (number + 1) * width);
BEGIN
  SELECT c.relname, c.relkind, s.spcname INTO about
  FROM pg_class c LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace WHERE c.oid = parent;
  child := format('musette.%I', about.relname || '_' || number);
  rest := format('musette.%I', about.relname || '_rest');
  IF to_regclass(child) IS NOT NULL THEN
    RETURN false;
  END IF;
  EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL)', child, parent) || coalesce(' TABLESPACE ' || quote_ident(about.spcname), '');
  EXECUTE format('ALTER TABLE %s SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05)', child);
  PERFORM musette.set_like(child, parent, key);
  IF about.relkind = 'p' THEN
    -- Rows that came before their partition. Nobody may look for them meanwhile: who waits for the rest only would miss them at their new place.
    EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', parent);
    EXECUTE format('CREATE UNLOGGED TABLE musette.moving (LIKE %s)', parent);
    EXECUTE format('WITH gone AS (DELETE FROM %s WHERE greatest(%I, 0) / %s = %s RETURNING *) INSERT INTO musette.moving SELECT * FROM gone',
      rest, key, width, number);
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM %s', parent, child, bounds);
    -- Only now: a subscriber of the table is told of the deletion, and must be told of the new rows too.
    EXECUTE format('INSERT INTO %s SELECT * FROM musette.moving', child);
    DROP TABLE musette.moving;
  ELSE
    EXECUTE format('ALTER TABLE %s ADD CONSTRAINT bounds CHECK (%s)', child,
      concat_ws(' AND ', CASE WHEN number > 0 THEN format('%I >= %s', key, number * width) END, format('%I < %s', key, (number + 1) * width)));
    EXECUTE format('ALTER TABLE %s INHERIT %s', child, parent);
  END IF;
  RETURN true;
END
$$;

-- Comments, last changed by 0029_partitions
COMMENT ON FUNCTION musette.add_partition(regclass,name,integer,integer) IS 'Makes the partition of a table for the keys from number * width on, unless it is there: while the table is a plain one as a child that inherits from it.';
