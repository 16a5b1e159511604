-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0025_attached_files
CREATE TABLE training.uploads (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  file_name text NOT NULL,
  size_bytes bigint NOT NULL,
  started_at timestamp with time zone,
  state text DEFAULT 'seen'::text NOT NULL,
  activity_path text,
  activity_id integer,
  reason text,
  attempts integer DEFAULT 0 NOT NULL,
  seen_at timestamp with time zone NOT NULL,
  sent_at timestamp with time zone,
  accepted_at timestamp with time zone,
  mirrored_at timestamp with time zone,
  next_try_at timestamp with time zone,
  resend_after timestamp with time zone,
  checks integer DEFAULT 0 NOT NULL,
  other_starts jsonb,
  sent_content_id text,
  CONSTRAINT uploads_account_id_content_id_pk PRIMARY KEY (account_id, content_id),
  CONSTRAINT uploads_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE,
  CONSTRAINT uploads_activity_id_activities_activity_id_fk FOREIGN KEY (activity_id) REFERENCES training.activities(activity_id) ON DELETE SET NULL,
  CONSTRAINT uploads_state CHECK (state = ANY (ARRAY['seen'::text, 'sending'::text, 'unconfirmed'::text, 'accepted'::text, 'mirrored'::text, 'duplicate'::text, 'refused'::text, 'attached'::text]))
);
ALTER TABLE training.uploads ALTER COLUMN file_name SET STATISTICS 0;

-- Indexes, last changed by 0000_schema
CREATE INDEX uploads_activity ON training.uploads USING btree (activity_id);
CREATE INDEX uploads_due ON training.uploads USING btree (next_try_at) WHERE (next_try_at IS NOT NULL);
CREATE INDEX uploads_newest ON training.uploads USING btree (seen_at DESC, content_id);

-- Triggers, last changed by 0000_schema
-- record_change: functions/record_upload_change.sql

-- Comments, last changed by 0025_attached_files
COMMENT ON TABLE training.uploads IS 'The ledger of FIT files: one row a FIT content, so that no file is sent twice, and each is joined to its activity.';
COMMENT ON COLUMN training.uploads.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.uploads.content_id IS 'SHA-256 of the FIT bytes, hex; of the file as it lay there when it held no whole FIT file';
COMMENT ON COLUMN training.uploads.file_name IS 'Name of the file where the content was first seen';
COMMENT ON COLUMN training.uploads.size_bytes IS 'Size of that content, bytes';
COMMENT ON COLUMN training.uploads.started_at IS 'Start of the activity, by the FIT content: that of its session, else of its first record; NULL when all times in it count from the start of the device';
COMMENT ON COLUMN training.uploads.state IS 'seen: known, not sent; sending: being sent; unconfirmed: sent, answer lost; accepted: taken by the service; mirrored: its activity is here with samples; duplicate: the service had it already; refused: see reason; attached: joined to an activity that came to the service another way, not sent';
COMMENT ON COLUMN training.uploads.activity_path IS 'The service''s identifier of the activity made from it, or that it was attached to; NULL of a duplicate that could not be joined to one, see reason';
COMMENT ON COLUMN training.uploads.activity_id IS 'Activity made from it, or that it was attached to, see activities';
COMMENT ON COLUMN training.uploads.reason IS 'Why it was refused, is a duplicate, waits or is not settled';
COMMENT ON COLUMN training.uploads.attempts IS 'Times it was sent';
COMMENT ON COLUMN training.uploads.seen_at IS 'When the content was first seen, or seen anew after a refusal or by --force';
COMMENT ON COLUMN training.uploads.sent_at IS 'When it was last sent';
COMMENT ON COLUMN training.uploads.accepted_at IS 'When the service took it';
COMMENT ON COLUMN training.uploads.mirrored_at IS 'When its activity was here with samples';
COMMENT ON COLUMN training.uploads.next_try_at IS 'When it is sent again (seen), given up by its sender (sending) or looked for (unconfirmed, accepted); NULL when nothing is due';
COMMENT ON COLUMN training.uploads.resend_after IS 'While unconfirmed: when an activity that is still not listed counts as not arrived';
COMMENT ON COLUMN training.uploads.checks IS 'Times the activity list was checked since the last change of state';
COMMENT ON COLUMN training.uploads.other_starts IS 'Further times of the FIT content that a service may take for the start: its first record, the first one since started_at, the start by the clock of the device; after a lost answer the activity is looked for at these, too';
COMMENT ON COLUMN training.uploads.sent_content_id IS 'SHA-256 of what was sent last, hex, when that was the file without the bytes behind its end, because the service had refused it with them; NULL otherwise';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.uploads ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.uploads TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.uploads AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.uploads TO musette_one_account, musette_reader;
