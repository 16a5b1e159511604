-- Row security for every role but the owner, decided by session_user, which no statement can change. docs/decisions.md tells why.
CREATE TABLE "musette"."held_logins" (
	"login" text NOT NULL,
	"account_id" integer NOT NULL,
	CONSTRAINT "held_logins_login_account_id_pk" PRIMARY KEY("login","account_id")
);
--> statement-breakpoint
ALTER TABLE "musette"."held_logins" ADD CONSTRAINT "held_logins_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "training"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
COMMENT ON TABLE musette.held_logins IS 'Logins that see single accounts only, see musette.visible_accounts()';
COMMENT ON COLUMN musette.held_logins.login IS 'Name of the login';
COMMENT ON COLUMN musette.held_logins.account_id IS 'An account that it sees, see training.accounts';
--> statement-breakpoint
CREATE FUNCTION musette.visible_accounts() RETURNS integer[] LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held CONSTANT integer[] := array(SELECT h.account_id FROM musette.held_logins h WHERE h.login = session_user::text);
BEGIN
  -- A superuser is a member of every group; the maker of a group is its member from Postgres 16 on, without its rights.
  IF held = '{}' AND NOT EXISTS (
    SELECT FROM pg_roles u, pg_roles g
    WHERE u.rolname = session_user AND NOT u.rolsuper AND g.rolname = 'musette_one_account' AND pg_has_role(u.oid, g.oid,
      CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'USAGE, SET' END))
  THEN
    RETURN NULL;
  END IF;
  RETURN held;
END
$$;
COMMENT ON FUNCTION musette.visible_accounts() IS 'The accounts that the login of this session sees: NULL for every account, an empty list for none. A login sees the accounts of its rows in held_logins; without rows it sees every account, or none as a member of musette_one_account.';
--> statement-breakpoint
CREATE FUNCTION musette.sees_all() RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN musette.visible_accounts() IS NULL; END $$;
COMMENT ON FUNCTION musette.sees_all() IS 'Whether the login of this session sees every account.';
--> statement-breakpoint
CREATE FUNCTION musette.visible_activities() RETURNS SETOF integer LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN RETURN QUERY SELECT a.activity_id FROM training.activities a WHERE a.account_id = ANY (musette.visible_accounts()); END $$;
COMMENT ON FUNCTION musette.visible_activities() IS 'The activities of the accounts that a held login sees.';
--> statement-breakpoint
CREATE FUNCTION musette.visible_files() RETURNS SETOF integer LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN RETURN QUERY SELECT f.file_id FROM training.fit_files f WHERE f.account_id = ANY (musette.visible_accounts()); END $$;
COMMENT ON FUNCTION musette.visible_files() IS 'The FIT files of the accounts that a held login sees.';
--> statement-breakpoint
-- A policy calls them with the rights of the reader, who cannot name them without a right on schema musette.
GRANT EXECUTE ON FUNCTION musette.visible_accounts(), musette.sees_all(), musette.visible_activities(), musette.visible_files() TO PUBLIC;
--> statement-breakpoint
CREATE FUNCTION musette.is_protected(relation regclass) RETURNS boolean LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT CASE c.relkind
    WHEN 'v' THEN coalesce(c.reloptions, '{}') @> '{security_invoker=true}'
    ELSE c.relrowsecurity AND EXISTS (
      SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'musette_account' AND NOT p.polpermissive AND p.polroles = '{0}') END
  FROM pg_class c WHERE c.oid = relation
$$;
COMMENT ON FUNCTION musette.is_protected(regclass) IS 'Whether a table or view shows a held login its accounts only.';
--> statement-breakpoint
CREATE FUNCTION musette.protect(relation regclass) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  about CONSTANT pg_class := (SELECT c FROM pg_class c WHERE oid = relation);
  -- A SELECT around a call makes Postgres compute it once for a statement. Without the cast, = ANY ((SELECT …)) means a set of rows.
  of_account CONSTANT text := 'account_id = ANY ((SELECT musette.visible_accounts())::integer[])';
  has CONSTANT name[] := array(SELECT attname FROM pg_attribute WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped);
  never_null CONSTANT boolean := (SELECT attnotnull FROM pg_attribute WHERE attrelid = relation AND attname = 'account_id' AND NOT attisdropped);
  -- A table of no account is empty for a held login, so that the views over it work. Rows of all accounts have no account in two tables.
  condition CONSTANT text := CASE
    WHEN relation = 'training.database'::regclass THEN 'true'
    WHEN never_null THEN of_account
    WHEN 'activity_id' = ANY (has) THEN 'activity_id IN (SELECT id FROM musette.visible_activities() AS id)'
    WHEN 'file_id' = ANY (has) THEN 'file_id IN (SELECT id FROM musette.visible_files() AS id)'
    WHEN relation IN ('training.workouts'::regclass, 'training.changes'::regclass) THEN of_account || ' OR account_id IS NULL'
    WHEN 'account_id' = ANY (has) THEN of_account
    ELSE 'false'
  END;
  policy name;
BEGIN
  IF about.relkind IN ('r', 'p') THEN
    FOR policy IN SELECT polname FROM pg_policy WHERE polrelid = relation AND polname IN ('everyone', 'musette_account', 'musette_one_account') LOOP
      EXECUTE format('DROP POLICY %I ON %s', policy, relation);
    END LOOP;
    EXECUTE format('CREATE POLICY everyone ON %s USING (true) WITH CHECK (true)', relation);
    EXECUTE format('CREATE POLICY musette_account ON %s AS RESTRICTIVE FOR SELECT USING ((SELECT musette.sees_all()) OR %s)', relation, condition);
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', relation);
  ELSIF about.relkind <> 'v' OR current_setting('server_version_num')::integer < 150000 THEN
    RETURN;
  ELSE
    EXECUTE format('ALTER VIEW %s SET (security_invoker = true)', relation);
  END IF;
  IF about.relnamespace = 'training'::regnamespace AND EXISTS (SELECT FROM pg_roles WHERE rolname = 'musette_one_account') THEN
    EXECUTE format('GRANT SELECT ON %s TO musette_one_account', relation);
  END IF;
END
$$;
COMMENT ON FUNCTION musette.protect(regclass) IS 'Makes a table or view show a held login its accounts only, and opens it to these logins; for others nothing changes. Views need Postgres 15.';
--> statement-breakpoint
-- The readers of single accounts, whose group says database and account, and the logins of assistants, whose name says both.
INSERT INTO musette.held_logins (login, account_id)
SELECT found.login, a.account_id
FROM training.accounts a JOIN (
  SELECT u.rolname AS login, substring(g.rolname FROM '^musette_account_[0-9]+_([0-9]{1,9})$')::integer AS account_id
  FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid JOIN pg_roles u ON u.oid = m.member
    JOIN pg_database d ON d.datname = current_database()
  WHERE g.rolname ~ ('^musette_account_' || d.oid || '_[0-9]+$') AND NOT u.rolsuper
  UNION
  SELECT rolname, substring(rolname FROM '_account_([0-9]{1,9})$')::integer FROM pg_roles
  WHERE rolname ~ ('^musette_mcp_' || left(encode(sha256(convert_to(current_database() || ' ' || session_user, 'UTF8')), 'hex'), 8) || '_account_[0-9]+$')
) found USING (account_id);
--> statement-breakpoint
-- The user may have no right to change roles: then an administrator makes the group with the first login of one account.
DO $$
DECLARE
  line text;
BEGIN
  FOR line IN
    SELECT 'CREATE ROLE musette_one_account NOLOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'musette_one_account')
    UNION ALL SELECT 'GRANT USAGE ON SCHEMA training TO musette_one_account'
    UNION ALL SELECT format('GRANT musette_one_account TO %I', login) FROM musette.held_logins
    UNION ALL SELECT format('REVOKE musette_reader FROM %I', login) FROM musette.held_logins WHERE login ~ '^musette_mcp_'
    UNION ALL SELECT format('DROP ROLE %I', g.rolname) FROM pg_roles g JOIN pg_database d ON d.datname = current_database()
      WHERE g.rolname ~ ('^musette_account_' || d.oid || '_[0-9]+$')
  LOOP
    BEGIN
      EXECUTE line;
    EXCEPTION
      WHEN insufficient_privilege OR undefined_object OR duplicate_object OR unique_violation OR dependent_objects_still_exist THEN NULL;
    END;
  END LOOP;
END
$$;
--> statement-breakpoint
DO $$
BEGIN
  -- Who reads a view locks the view and then its tables.
  PERFORM musette.protect(oid) FROM (SELECT c.oid FROM pg_class c
  WHERE c.relnamespace = 'training'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND (c.relname = ANY ('{
    accounts,activities,activity_intensity,activity_revisions,changes,changes_settled,daily_load,database,drift,fit_devices,fit_field_values,
    fit_fields,fit_files,fit_laps,fit_messages,fit_originals,fit_records,fit_sessions,fitness_history,form_by_day,form_constants,form_history,
    form_now,form_today,mirror_health,planned_load,power_bests,power_curves,raw_documents,recalculations,recommended_load,recommended_weeks,
    records,ride_events,ride_files,ride_intensity,ride_laps,ride_lengths,ride_measures,ride_overview,ride_profiles,ride_records,
    ride_rr_intervals,ride_samples,ride_time_in_zones,routes,sample_extra_values,sample_extras,samples,streaks,sync_cursors,sync_runs,
    this_week,today,totals,training_info,upload_copies,upload_journey,uploads,waiting_files,weekly_summary,workout_definitions,
    workout_files,workout_sets,workouts,zones_by_week}')
    OR EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid AND polname IN ('musette_account', 'musette_one_account'))) ORDER BY c.relkind = 'v' DESC, c.oid) c;
  PERFORM musette.protect(i.inhrelid) FROM pg_inherits i WHERE i.inhparent IN ('training.samples'::regclass, 'training.fit_records'::regclass);
END
$$;
