-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0031_tracks
CREATE OR REPLACE FUNCTION musette.xml_tag(name text, content text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN content <> '' THEN '<' || name || '>' || content || '</' || name || '>' ELSE '' END;

-- Comments, last changed by 0031_tracks
COMMENT ON FUNCTION musette.xml_tag(text,text) IS 'An element of XML; nothing without content.';
