-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0029_partitions
CREATE OR REPLACE FUNCTION musette.brin_indexes(parent regclass, keys name[]) RETURNS TABLE (index regclass, leaf regclass)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT i.indexrelid::regclass, l FROM musette.leaves(parent) l JOIN pg_index i ON i.indrelid = l
    JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam AND m.amname = 'brin'
    JOIN pg_attribute a ON a.attrelid = l AND a.attnum = i.indkey[0] AND a.attname = ANY (keys)
$$;

-- Comments, last changed by 0029_partitions
COMMENT ON FUNCTION musette.brin_indexes(regclass,name[]) IS 'The BRIN indexes of a table and its partitions that begin with one of these columns.';
