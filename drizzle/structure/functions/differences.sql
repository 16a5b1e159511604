-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0002_fixed_paths
CREATE OR REPLACE FUNCTION musette.differences(before jsonb, after jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  SELECT coalesce(jsonb_object_agg(key, jsonb_build_array(before -> key, value)), '{}')
  FROM jsonb_each(after) WHERE before -> key IS DISTINCT FROM value
$function$;

-- Comments, last changed by 0000_schema
COMMENT ON FUNCTION musette.differences(jsonb,jsonb) IS 'The members of two objects that differ: {"name":[before,after]}.';
