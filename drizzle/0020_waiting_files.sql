CREATE TABLE "training"."upload_copies" (
	"account_id" integer NOT NULL,
	"content_id" text NOT NULL,
	"file_name" text NOT NULL,
	"seen_at" timestamp with time zone NOT NULL,
	CONSTRAINT "upload_copies_account_id_content_id_file_name_pk" PRIMARY KEY("account_id","content_id","file_name")
);
--> statement-breakpoint
CREATE TABLE "training"."waiting_files" (
	"folder" text NOT NULL,
	"path" text NOT NULL,
	"account_name" text,
	"size_bytes" bigint,
	"code" text NOT NULL,
	"reason" text NOT NULL,
	"waiting_since" timestamp with time zone NOT NULL,
	"looked_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "training"."upload_copies" ADD CONSTRAINT "upload_copies_upload" FOREIGN KEY ("account_id","content_id") REFERENCES "training"."uploads"("account_id","content_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "upload_copies_newest" ON "training"."upload_copies" USING btree ("seen_at" desc,"content_id");
--> statement-breakpoint
-- A table without a key can be published only with whole rows.
ALTER TABLE training.waiting_files REPLICA IDENTITY FULL;
--> statement-breakpoint
COMMENT ON TABLE training.upload_copies IS 'Further files with bytes that the ledger knows under another name: one row a content and name. They are not sent.';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_copies.account_id IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_copies.content_id IS 'SHA-256 of the bytes, hex, see uploads';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_copies.file_name IS 'Name of the further file';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_copies.seen_at IS 'When a file of this name and content was last seen';
--> statement-breakpoint
COMMENT ON TABLE training.waiting_files IS 'What waits in the drop folder and has no row in uploads yet, because it is not whole, cannot be read or belongs to nobody, and what is wrong with the folder itself. One row a file or folder, written by the daemon that watches; the first 1,000 of a folder.';
--> statement-breakpoint
COMMENT ON COLUMN training.waiting_files.folder IS 'Path of the drop folder';
--> statement-breakpoint
COMMENT ON COLUMN training.waiting_files.path IS 'Path of the file or folder in the drop folder; the path of the drop folder when that is what is wrong';
--> statement-breakpoint
COMMENT ON COLUMN training.waiting_files.account_name IS 'Account whose file it is; NULL when it is no file';
--> statement-breakpoint
COMMENT ON COLUMN training.waiting_files.size_bytes IS 'Size of the file, bytes; NULL when it is no file';
--> statement-breakpoint
COMMENT ON COLUMN training.waiting_files.code IS 'Why, in a word: not_whole, unreadable_file, too_large, no_account; of the folder itself: vanished, accounts, read_only, text, unreadable, watch';
--> statement-breakpoint
COMMENT ON COLUMN training.waiting_files.reason IS 'Why it waits, and what to do';
--> statement-breakpoint
COMMENT ON COLUMN training.waiting_files.waiting_since IS 'Since when it lies there unchanged, or is wrong';
--> statement-breakpoint
COMMENT ON COLUMN training.waiting_files.looked_at IS 'When the daemon last said so; a quarter of an hour ago at most while it runs';
--> statement-breakpoint
CREATE OR REPLACE VIEW training.upload_journey AS
SELECT u.account_id, u.content_id, u.file_name, u.state, u.reason, u.seen_at, u.sent_at, u.accepted_at, u.mirrored_at,
  u.mirrored_at - u.seen_at AS took, a.activity_id, a.name AS activity_name, a.started_at_local::date AS day, a.xss,
  a.prev_sig_ftp AS ftp_before, a.sig_ftp AS ftp_after, a.sig_ftp - a.prev_sig_ftp AS ftp_change
FROM training.uploads u
LEFT JOIN training.activities a ON a.activity_id = u.activity_id AND a.absent_since IS NULL
UNION ALL
SELECT c.account_id, c.content_id, c.file_name, CASE u.state WHEN 'refused' THEN 'refused' ELSE 'duplicate' END,
  CASE u.state WHEN 'refused' THEN u.reason ELSE 'the same bytes as "' || u.file_name || '"' END, c.seen_at, NULL, NULL, NULL,
  NULL, a.activity_id, a.name, a.started_at_local::date, a.xss,
  a.prev_sig_ftp, a.sig_ftp, a.sig_ftp - a.prev_sig_ftp
FROM training.upload_copies c
JOIN training.uploads u ON u.account_id = c.account_id AND u.content_id = c.content_id
LEFT JOIN training.activities a ON a.activity_id = u.activity_id AND a.absent_since IS NULL;
--> statement-breakpoint
COMMENT ON VIEW training.upload_journey IS 'The way of each file, from the folder to its scores: one row a file name and FIT content; a second name of the same bytes is a duplicate. The columns of the activity are NULL until it is here, and when the service does not list it any more.';
--> statement-breakpoint
COMMENT ON COLUMN training.upload_journey.seen_at IS 'When the content was first seen, or seen anew after a refusal or by --force; of a second name: when it was last seen';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads.content_id IS 'SHA-256 of the FIT bytes, hex; of the file as it lay there when it held no whole FIT file';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads.size_bytes IS 'Size of that content, bytes';
