-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0029_partitions
CREATE OR REPLACE FUNCTION musette.attach_partitions(parent regclass, key name, width integer) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text := parent::text;
  rest text;
  old pg_class;
  views text[];
  later text[];
  line text;
  child record;
  others text;
  too_many boolean;
BEGIN
  -- What is locked below is read to its end: 64 MB take a twentieth of a second.
  IF pg_relation_size(parent) > 64 * 1024 * 1024 THEN
    RETURN false;
  END IF;
  SELECT * INTO old FROM pg_class WHERE oid = parent;
  rest := format('musette.%I', old.relname || '_rest');
  views := array(
    SELECT format('CREATE OR REPLACE VIEW %s%s AS %s', v.oid::regclass,
      ' WITH (' || array_to_string(v.reloptions, ', ') || ')', pg_get_viewdef(v.oid))
    FROM pg_class v WHERE v.relkind = 'v' AND EXISTS (
      SELECT FROM pg_rewrite r JOIN pg_depend d ON (d.classid, d.objid) = ('pg_rewrite'::regclass, r.oid)
      WHERE r.ev_class = v.oid AND (d.refclassid, d.refobjid) = ('pg_class'::regclass, parent)));
  later := array(SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = parent)
    || array(SELECT format('GRANT %s ON %s TO %s', a.privilege_type, name, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END)
         || CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
       FROM aclexplode(old.relacl) a WHERE a.grantee <> old.relowner)
    || array(SELECT format('GRANT %s (%I) ON %s TO %s', a.privilege_type, c.attname, name,
         CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END)
         || CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
       FROM pg_attribute c, aclexplode(c.attacl) a WHERE c.attrelid = parent AND a.grantee <> old.relowner)
    || array(SELECT format('COMMENT ON TABLE %s IS %L', name, obj_description(parent, 'pg_class')))
    || views;
  -- Who reads a view locks the view and then its table, and so must this, or both would wait for each other.
  FOREACH line IN ARRAY views LOOP
    EXECUTE line;
  END LOOP;
  EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', parent);
  EXECUTE format('SELECT EXISTS (SELECT FROM ONLY %s OFFSET 100000)', parent) INTO too_many;
  IF too_many OR pg_relation_size(parent) > 64 * 1024 * 1024 THEN
    RETURN false;
  END IF;
  PERFORM musette.move_to_partitions(parent, key, width, 0);
  -- Those of the partitioned table hold; limitAgain in the code makes them.
  FOR line IN SELECT format('DROP POLICY %I ON %s', polname, name) FROM pg_policy WHERE polrelid = parent LOOP
    EXECUTE line;
  END LOOP;
  EXECUTE format('ALTER TABLE %s SET SCHEMA musette', parent);
  EXECUTE format('ALTER TABLE %s RENAME TO %I', parent, old.relname || '_rest');
  EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (%I)', name, rest, key)
    || coalesce(' TABLESPACE ' || (SELECT quote_ident(spcname) FROM pg_tablespace WHERE oid = old.reltablespace), '');
  PERFORM musette.set_like(name, parent, key);
  FOREACH line IN ARRAY later LOOP
    EXECUTE line;
  END LOOP;
  FOR child IN SELECT inhrelid::regclass AS table, substring(relname FROM '\d+$')::integer AS number
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = parent ORDER BY 2
  LOOP
    EXECUTE format('ALTER TABLE %s NO INHERIT %s', child.table, rest);
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s)', name, child.table,
      CASE child.number WHEN 0 THEN 'MINVALUE' ELSE (child.number * width)::text END, (child.number + 1) * width);
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT bounds', child.table);
  END LOOP;
  -- The table itself becomes the partition of all keys that have none yet: a transaction that began before still sees its rows.
  EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s DEFAULT', name, rest);
  SELECT string_agg(pg_describe_object(classid, objid, objsubid), ', ') INTO others FROM pg_depend
  WHERE deptype = 'n' AND (refclassid, refobjid) IN (('pg_class'::regclass, parent), ('pg_type'::regclass, old.reltype));
  IF others IS NOT NULL THEN
    RAISE EXCEPTION '% needs % as a plain table', others, name USING ERRCODE = 'dependent_objects_still_exist';
  END IF;
  RETURN true;
END
$$;

-- Comments, last changed by 0029_partitions
COMMENT ON FUNCTION musette.attach_partitions(regclass,name,integer) IS 'Makes a partitioned table of a plain one whose rows are in its children, and brings over indexes, rights, comment and views; false while it holds too much. What is left of the plain one becomes the default partition.';
