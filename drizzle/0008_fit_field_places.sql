CREATE OR REPLACE VIEW training.fit_field_values AS
SELECT f.account_id, f.activity_id, f.content_id, x.name AS field, x.units, f.started_at + v.offset_s * interval '1 second' AS t, v.value,
  x.position, x.developer_index, x.field_number
FROM training.ride_files f
JOIN training.fit_fields x ON x.account_id = f.account_id AND x.content_id = f.content_id
CROSS JOIN LATERAL unnest(x.offsets_s, x."values") AS v (offset_s, value);
COMMENT ON COLUMN training.fit_field_values.field IS 'Name of the field; two sensors may have fields of one name, which position tells apart';
COMMENT ON COLUMN training.fit_field_values.position IS 'Place of the field in the file, see fit_fields';
COMMENT ON COLUMN training.fit_field_values.developer_index IS 'Number of the app in the file, see fit_fields';
COMMENT ON COLUMN training.fit_field_values.field_number IS 'Number of the field of that app, see fit_fields';
COMMENT ON COLUMN training.fit_files.ended_at IS 'Time of the last record';
COMMENT ON COLUMN training.fit_sessions.fields IS 'Every field of the message by its name in the FIT profile, in the unit of the profile, enumerations as numbers; field_N is a field that the profile does not know, as its raw number. Fields of developers are in developer_fields, by their own names; where two have one name, the second is NAME_A_N with the numbers of its app and field, see fit_fields';
COMMENT ON COLUMN training.fit_laps.fields IS 'Every field of the message by its name in the FIT profile, in the unit of the profile, enumerations as numbers; field_N is a field that the profile does not know, as its raw number. Fields of developers are in developer_fields, by their own names; where two have one name, the second is NAME_A_N with the numbers of its app and field, see fit_fields';
