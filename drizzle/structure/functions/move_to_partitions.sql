-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0029_partitions
CREATE OR REPLACE FUNCTION musette.move_to_partitions(parent regclass, key name, width integer, page bigint, OUT moved bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  number integer;
  start tid := format('(%s,0)', page)::tid;
  before record;
  came record;
  total bigint := 0;
  sum numeric := 0;
BEGIN
  -- Nobody may delete rows meanwhile: a deletion that waits for a moved row would miss it at its new place.
  EXECUTE format('LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE', parent);
  EXECUTE format('SELECT count(*) AS rows, coalesce(sum(hash_record_extended(s, 0)), 0) AS sum FROM ONLY %s s WHERE ctid >= $1', parent)
    INTO before USING start;
  FOR number IN EXECUTE format('SELECT DISTINCT greatest(%I, 0) / $1 FROM ONLY %s WHERE ctid >= $2 ORDER BY 1', key, parent) USING width, start
  LOOP
    PERFORM musette.add_partition(parent, key, width, number);
    EXECUTE format('WITH gone AS (DELETE FROM ONLY %s WHERE ctid >= $1 AND greatest(%I, 0) / $2 = $3 RETURNING *),
        came AS (INSERT INTO musette.%I SELECT * FROM gone RETURNING *)
      SELECT count(*) AS rows, coalesce(sum(hash_record_extended(came, 0)), 0) AS sum FROM came',
      parent, key, (SELECT relname FROM pg_class WHERE oid = parent) || '_' || number)
      INTO came USING start, width, number;
    total := total + came.rows;
    sum := sum + came.sum;
  END LOOP;
  IF (total, sum) IS DISTINCT FROM (before.rows, before.sum) THEN
    RAISE EXCEPTION '% of % rows of % came to partitions as they were', total, before.rows, parent;
  END IF;
  moved := total;
END
$$;

-- Comments, last changed by 0029_partitions
COMMENT ON FUNCTION musette.move_to_partitions(regclass,name,integer,bigint) IS 'Moves the rows of a plain table that lie from a page on into its children, compares their number and their sum, and returns the number.';
