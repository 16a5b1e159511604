-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0029_partitions
CREATE OR REPLACE FUNCTION musette.partition_state(parent regclass, key name, owners regclass, width integer, OUT is_plain boolean, OUT is_ours boolean,
  OUT last integer, OUT is_ahead boolean, OUT parts integer, OUT pages integer, OUT obstacle text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  made text;
BEGIN
  EXECUTE format('SELECT coalesce(max(%I), 0) / $1 FROM %s', key, owners) INTO last USING width;
  SELECT relkind = 'r', 'musette.' || relname || '_', pg_relation_size(oid) / current_setting('block_size')::integer
    INTO is_plain, made, pages FROM pg_class WHERE oid = parent;
  is_ours := to_regclass(made || 'rest') IS NOT NULL;
  is_ahead := to_regclass(made || last + 1) IS NOT NULL;
  parts := (SELECT count(*) FROM pg_inherits WHERE inhparent = parent);
  IF is_plain AND last > 0 THEN
    obstacle := musette.partition_obstacle(parent);
  END IF;
END
$$;

-- Comments, last changed by 0029_partitions
COMMENT ON FUNCTION musette.partition_state(regclass,name,regclass,integer) IS 'How far a table is cut into partitions: whether it is a plain one yet, whether its partitions were made here, the number of the partition of the highest key and whether the next one is there, the number of partitions, and what is left in the plain table.';
