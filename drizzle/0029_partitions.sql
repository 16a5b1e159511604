-- Lets the daemon cut training.samples and training.fit_records of large mirrors into partitions. docs/decisions.md tells how and why.
CREATE VIEW musette.lock_partitions AS SELECT true AS lockable;
--> statement-breakpoint
COMMENT ON VIEW musette.lock_partitions IS 'Locked by the process that moves rows into partitions';
--> statement-breakpoint
COMMENT ON COLUMN musette.lock_partitions.lockable IS 'Always true: the lock is what matters';
--> statement-breakpoint
CREATE FUNCTION musette.set_like(made regclass, parent regclass, key name) RETURNS void
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
--> statement-breakpoint
COMMENT ON FUNCTION musette.set_like(regclass, regclass, name) IS 'Gives a table the settings of another that CREATE TABLE … LIKE does not copy.';
--> statement-breakpoint
CREATE FUNCTION musette.add_partition(parent regclass, key name, width integer, number integer) RETURNS boolean
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
--> statement-breakpoint
COMMENT ON FUNCTION musette.add_partition(regclass, name, integer, integer) IS 'Makes the partition of a table for the keys from number * width on, unless it is there: while the table is a plain one as a child that inherits from it.';
--> statement-breakpoint
CREATE FUNCTION musette.move_to_partitions(parent regclass, key name, width integer, page bigint, OUT moved bigint)
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
--> statement-breakpoint
COMMENT ON FUNCTION musette.move_to_partitions(regclass, name, integer, bigint) IS 'Moves the rows of a plain table that lie from a page on into its children, compares their number and their sum, and returns the number.';
--> statement-breakpoint
CREATE FUNCTION musette.partition_obstacle(parent regclass) RETURNS text
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
--> statement-breakpoint
COMMENT ON FUNCTION musette.partition_obstacle(regclass) IS 'What others have made on a table that cannot be brought over to a partitioned one; NULL without any.';
--> statement-breakpoint
CREATE FUNCTION musette.attach_partitions(parent regclass, key name, width integer) RETURNS boolean
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
--> statement-breakpoint
COMMENT ON FUNCTION musette.attach_partitions(regclass, name, integer) IS 'Makes a partitioned table of a plain one whose rows are in its children, and brings over indexes, rights, comment and views; false while it holds too much. What is left of the plain one becomes the default partition.';
--> statement-breakpoint
CREATE FUNCTION musette.leaves(parent regclass) RETURNS SETOF regclass LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT c.oid::regclass FROM pg_class c
  WHERE c.relkind = 'r' AND (c.oid = parent OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = parent))
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.leaves(regclass) IS 'The tables that hold the rows of a table: itself or its partitions, and both while rows are moved.';
--> statement-breakpoint
CREATE FUNCTION musette.brin_indexes(parent regclass, keys name[]) RETURNS TABLE (index regclass, leaf regclass)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT i.indexrelid::regclass, l FROM musette.leaves(parent) l JOIN pg_index i ON i.indrelid = l
    JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam AND m.amname = 'brin'
    JOIN pg_attribute a ON a.attrelid = l AND a.attnum = i.indkey[0] AND a.attname = ANY (keys)
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.brin_indexes(regclass, name[]) IS 'The BRIN indexes of a table and its partitions that begin with one of these columns.';
--> statement-breakpoint
CREATE FUNCTION musette.partition_state(parent regclass, key name, owners regclass, width integer, OUT is_plain boolean, OUT is_ours boolean,
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
--> statement-breakpoint
COMMENT ON FUNCTION musette.partition_state(regclass, name, regclass, integer) IS 'How far a table is cut into partitions: whether it is a plain one yet, whether its partitions were made here, the number of the partition of the highest key and whether the next one is there, the number of partitions, and what is left in the plain table.';
