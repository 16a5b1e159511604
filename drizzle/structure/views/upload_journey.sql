-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0010_views_name_accounts
CREATE OR REPLACE VIEW training.upload_journey AS
SELECT v.account_id,
    v.content_id,
    v.file_name,
    v.state,
    v.reason,
    v.seen_at,
    v.sent_at,
    v.accepted_at,
    v.mirrored_at,
    v.took,
    v.activity_id,
    v.activity_name,
    v.day,
    v.xss,
    v.ftp_before,
    v.ftp_after,
    v.ftp_change,
    a.name AS account
   FROM ( SELECT u.account_id,
            u.content_id,
            u.file_name,
            u.state,
            u.reason,
            u.seen_at,
            u.sent_at,
            u.accepted_at,
            u.mirrored_at,
            u.mirrored_at - u.seen_at AS took,
            a_1.activity_id,
            a_1.name AS activity_name,
            a_1.started_at_local::date AS day,
            a_1.xss,
            a_1.prev_sig_ftp AS ftp_before,
            a_1.sig_ftp AS ftp_after,
            a_1.sig_ftp - a_1.prev_sig_ftp AS ftp_change
           FROM training.uploads u
             LEFT JOIN training.activities a_1 ON a_1.activity_id = u.activity_id AND a_1.absent_since IS NULL
        UNION ALL
         SELECT c.account_id,
            c.content_id,
            c.file_name,
                CASE u.state
                    WHEN 'refused'::text THEN 'refused'::text
                    ELSE 'duplicate'::text
                END AS state,
                CASE u.state
                    WHEN 'refused'::text THEN u.reason
                    ELSE ('the same bytes as "'::text || u.file_name) || '"'::text
                END AS reason,
            c.seen_at,
            NULL::timestamp with time zone AS sent_at,
            NULL::timestamp with time zone AS accepted_at,
            NULL::timestamp with time zone AS mirrored_at,
            NULL::interval AS took,
            a_1.activity_id,
            a_1.name AS activity_name,
            a_1.started_at_local::date AS day,
            a_1.xss,
            a_1.prev_sig_ftp AS ftp_before,
            a_1.sig_ftp AS ftp_after,
            a_1.sig_ftp - a_1.prev_sig_ftp AS ftp_change
           FROM training.upload_copies c
             JOIN training.uploads u ON u.account_id = c.account_id AND u.content_id = c.content_id
             LEFT JOIN training.activities a_1 ON a_1.activity_id = u.activity_id AND a_1.absent_since IS NULL) v
     LEFT JOIN training.accounts a ON a.account_id = v.account_id;

-- Comments, last changed by 0010_views_name_accounts
COMMENT ON VIEW training.upload_journey IS 'The way of each file, from the folder to its scores: one row a file name and FIT content; a second name of the same bytes is a duplicate. The columns of the activity are NULL until it is here, and when the service does not list it any more.';
COMMENT ON COLUMN training.upload_journey.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.upload_journey.content_id IS 'SHA-256 of the FIT bytes, hex';
COMMENT ON COLUMN training.upload_journey.file_name IS 'Name of the file where the content was first seen';
COMMENT ON COLUMN training.upload_journey.state IS 'How far it is, see uploads';
COMMENT ON COLUMN training.upload_journey.reason IS 'Why it was refused or is not settled';
COMMENT ON COLUMN training.upload_journey.seen_at IS 'When the content was first seen, or seen anew after a refusal or by --force; of a second name: when it was last seen';
COMMENT ON COLUMN training.upload_journey.sent_at IS 'When it was last sent';
COMMENT ON COLUMN training.upload_journey.accepted_at IS 'When the service took it';
COMMENT ON COLUMN training.upload_journey.mirrored_at IS 'When its activity was here with samples';
COMMENT ON COLUMN training.upload_journey.took IS 'Derived: mirrored_at - seen_at';
COMMENT ON COLUMN training.upload_journey.activity_id IS 'Activity made from it, see activities';
COMMENT ON COLUMN training.upload_journey.activity_name IS 'Name of the activity';
COMMENT ON COLUMN training.upload_journey.day IS 'Day of the activity in its own time zone';
COMMENT ON COLUMN training.upload_journey.xss IS 'Training load score of the activity, total; unit not told by the service';
COMMENT ON COLUMN training.upload_journey.ftp_before IS 'Threshold power before the activity, W';
COMMENT ON COLUMN training.upload_journey.ftp_after IS 'Threshold power after the activity, W';
COMMENT ON COLUMN training.upload_journey.ftp_change IS 'Derived: ftp_after - ftp_before, W';
COMMENT ON COLUMN training.upload_journey.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.upload_journey SET (security_invoker=true);
GRANT SELECT ON training.upload_journey TO musette_one_account, musette_reader;
