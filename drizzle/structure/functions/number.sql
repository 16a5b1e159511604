-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.number(word text) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN word ~ '^-?[0-9]{1,12}([.][0-9]{1,30})?$' THEN word::double precision END;

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.number(text) IS 'A number that was sent as such or as a text; NULL for anything else.';
