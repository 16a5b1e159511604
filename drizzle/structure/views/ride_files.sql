-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0010_views_name_accounts
CREATE OR REPLACE VIEW training.ride_files AS
SELECT v.account_id,
    v.activity_id,
    v.content_id,
    v.file_name,
    v.manufacturer,
    v.product,
    v.serial_number,
    v.created_at,
    v.started_at,
    v.ended_at,
    v.size_bytes,
    v.records,
    v.problem,
    v.kept,
    a.name AS account
   FROM ( SELECT a_1.account_id,
            a_1.activity_id,
            f.content_id,
            f.file_name,
            f.manufacturer,
            f.product,
            f.serial_number,
            f.created_at,
            f.started_at,
            f.ended_at,
            f.size_bytes,
            f.records,
            f.problem,
            o.kept IS NOT NULL AS kept
           FROM training.activities a_1
             CROSS JOIN LATERAL ( SELECT file.account_id,
                    file.content_id,
                    file.manufacturer,
                    file.product,
                    file.product_number,
                    file.serial_number,
                    file.created_at,
                    file.started_at,
                    file.ended_at,
                    file.size_bytes,
                    file.parts,
                    file.records,
                    file.problem,
                    file.fields,
                    file.read_at,
                    u.file_name
                   FROM training.uploads u
                     JOIN training.fit_files file ON file.account_id = u.account_id AND file.content_id = u.content_id
                  WHERE u.activity_id = a_1.activity_id AND u.account_id = a_1.account_id
                  ORDER BY (u.state = 'duplicate'::text), (file.problem IS NOT NULL), u.seen_at, u.content_id
                 LIMIT 1) f
             LEFT JOIN LATERAL ( SELECT true AS kept
                   FROM training.fit_originals
                  WHERE fit_originals.account_id = f.account_id AND fit_originals.content_id = f.content_id
                 LIMIT 1) o ON true
          WHERE a_1.absent_since IS NULL) v
     LEFT JOIN training.accounts a ON a.account_id = v.account_id;

-- Comments, last changed by 0025_attached_files
COMMENT ON VIEW training.ride_files IS 'The FIT file of each activity that has one here: of several the one that was uploaded or attached, and not one that the service called a duplicate of it. Join fit_laps, fit_sessions, fit_devices and fit_fields by account_id and content_id; ride_records, ride_events and the other views of its messages have joined it already.';
COMMENT ON COLUMN training.ride_files.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.ride_files.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.ride_files.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.ride_files.file_name IS 'Name of the file where the content was first seen';
COMMENT ON COLUMN training.ride_files.manufacturer IS 'Maker of the device that wrote the file, see fit_files';
COMMENT ON COLUMN training.ride_files.product IS 'Product, see fit_files';
COMMENT ON COLUMN training.ride_files.serial_number IS 'Serial number of the device';
COMMENT ON COLUMN training.ride_files.created_at IS 'When the device began the file, by its own clock';
COMMENT ON COLUMN training.ride_files.started_at IS 'Start of the first session, else the first record';
COMMENT ON COLUMN training.ride_files.ended_at IS 'Last record';
COMMENT ON COLUMN training.ride_files.size_bytes IS 'Size of the FIT bytes';
COMMENT ON COLUMN training.ride_files.records IS 'Number of records';
COMMENT ON COLUMN training.ride_files.problem IS 'Why not all of it could be read; NULL when all was';
COMMENT ON COLUMN training.ride_files.kept IS 'Whether its bytes are here: musette export PATH --format fit writes them';
COMMENT ON COLUMN training.ride_files.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.ride_files SET (security_invoker=true);
GRANT SELECT ON training.ride_files TO musette_one_account, musette_reader;
