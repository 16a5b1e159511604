-- One word for looking at the service what became of an upload: the check.
ALTER TABLE training.uploads RENAME COLUMN settle_after TO resend_after;
ALTER TABLE training.uploads RENAME COLUMN status_checks TO checks;
