-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0016_fit_records
CREATE OR REPLACE VIEW training.fit_field_values AS
SELECT f.account_id, f.activity_id, f.content_id, x.name AS field, x.units, f.started_at + v.offset_s * interval '1 second' AS t, v.value,
  x.position, x.developer_index, x.field_number, a.name AS account,
  coalesce(v.record, CASE WHEN x.count = f.records THEN v.place END)::integer AS record, x.others -> v.place::text AS other
FROM training.ride_files f
JOIN training.fit_fields x ON x.account_id = f.account_id AND x.content_id = f.content_id
CROSS JOIN LATERAL unnest(x.offsets_s, x."values", x.records) WITH ORDINALITY AS v (offset_s, value, record, place)
LEFT JOIN training.accounts a ON a.account_id = f.account_id;

-- Comments, last changed by 0016_fit_records
COMMENT ON VIEW training.fit_field_values IS 'The values of the fields of fit_fields, of each activity whose FIT file is here, one row a value.';
COMMENT ON COLUMN training.fit_field_values.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_field_values.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.fit_field_values.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.fit_field_values.field IS 'Name of the field; two sensors may have fields of one name, which position tells apart';
COMMENT ON COLUMN training.fit_field_values.units IS 'Unit, in the words of the app';
COMMENT ON COLUMN training.fit_field_values.t IS 'Time of the record';
COMMENT ON COLUMN training.fit_field_values.value IS 'The value, in units; NULL where it is no number, see other';
COMMENT ON COLUMN training.fit_field_values."position" IS 'Place of the field in the file, see fit_fields';
COMMENT ON COLUMN training.fit_field_values.developer_index IS 'Number of the app in the file, see fit_fields';
COMMENT ON COLUMN training.fit_field_values.field_number IS 'Number of the field of that app, see fit_fields';
COMMENT ON COLUMN training.fit_field_values.account IS 'Name of the account';
COMMENT ON COLUMN training.fit_field_values.record IS 'Number of the record, see position of fit_records; NULL where it is not known, see fit_fields';
COMMENT ON COLUMN training.fit_field_values.other IS 'The value where it is no number: a text, a list, a whole number beyond 2^53';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.fit_field_values SET (security_invoker=true);
GRANT SELECT ON training.fit_field_values TO musette_one_account, musette_reader;
