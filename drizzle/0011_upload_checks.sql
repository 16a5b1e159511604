-- One word for looking at the service what became of an upload: the check.
ALTER TABLE training.uploads RENAME COLUMN settle_after TO resend_after;
ALTER TABLE training.uploads RENAME COLUMN status_checks TO checks;
-- Since 18 Postgres names the NOT NULL of a column as well; a column takes its old name along.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_constraint WHERE conname = 'uploads_status_checks_not_null' AND conrelid = 'training.uploads'::regclass) THEN
    ALTER TABLE training.uploads RENAME CONSTRAINT uploads_status_checks_not_null TO uploads_checks_not_null;
  END IF;
END $$;
