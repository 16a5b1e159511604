-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0029_partitions
CREATE OR REPLACE FUNCTION musette.set_like(made regclass, parent regclass, key name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  line text;
BEGIN
  FOR line IN
    SELECT format('ALTER %I SET STATISTICS %s', attname, CASE attname WHEN key THEN 10 ELSE attstattarget END)
    FROM pg_attribute WHERE attrelid = parent AND attnum > 0 AND NOT attisdropped AND attstattarget >= 0
    UNION ALL SELECT 'OWNER TO ' || relowner::regrole FROM pg_class WHERE oid = parent
    UNION ALL SELECT 'REPLICA IDENTITY FULL'
  LOOP
    EXECUTE format('ALTER TABLE %s %s', made, line);
  END LOOP;
END
$$;

-- Comments, last changed by 0029_partitions
COMMENT ON FUNCTION musette.set_like(regclass,regclass,name) IS 'Gives a table the settings of another that CREATE TABLE … LIKE does not copy.';
