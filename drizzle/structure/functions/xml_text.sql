-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0031_tracks
-- Postgres writes the body of each of these functions into the query that calls it.
CREATE OR REPLACE FUNCTION musette.xml_text(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN replace(replace(replace(regexp_replace(value, '[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]', '', 'g'), '&', '&amp;'), '<', '&lt;'), '>', '&gt;');

-- Comments, last changed by 0031_tracks
COMMENT ON FUNCTION musette.xml_text(text) IS 'Escapes markup and removes characters that XML forbids.';
