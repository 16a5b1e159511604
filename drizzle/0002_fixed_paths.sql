-- A function with a path of its own does not run code that another role has put into a schema of the caller's path.
ALTER FUNCTION musette.content(training.activities) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION musette.content(training.workouts) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION musette.content(training.training_info) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION musette.differences(jsonb, jsonb) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION musette.move_derived() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION musette.record_change(integer, text, text, jsonb) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION musette.record_content_change() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION musette.record_login_change() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION musette.record_upload_change() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION musette.set_updated_at() SET search_path = pg_catalog, pg_temp;
-- With a path Postgres would not inline it, and a call would cost five times as much. The names in a body of this form are resolved now.
CREATE OR REPLACE FUNCTION training.round(value double precision, digits integer) RETURNS numeric
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN pg_catalog.round(value::numeric, digits);
