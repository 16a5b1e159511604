-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.flag(word text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN word IN ('true', '1') THEN true WHEN word IN ('false', '0') THEN false END;

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.flag(text) IS 'Yes or no as JSON has it; NULL for anything else.';
