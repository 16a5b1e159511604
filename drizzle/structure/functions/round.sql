-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0002_fixed_paths
-- With a path Postgres would not inline it, and a call would cost five times as much. The names in a body of this form are resolved now.
CREATE OR REPLACE FUNCTION training.round(value double precision, digits integer) RETURNS numeric
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN pg_catalog.round(value::numeric, digits);

-- Comments, last changed by 0000_schema
COMMENT ON FUNCTION training.round(double precision,integer) IS 'Rounds a number of the tables and views to a number of digits behind the point: training.round(xss, 1). With training in the search_path, as in the logins of musette reader and in musette sql, round(xss, 1) is enough; numeric values go on being rounded by Postgres''s own function.';
