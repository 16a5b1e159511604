CREATE OR REPLACE VIEW training.records AS
SELECT account_id, activity_id, started_at_local::date AS day, name, medal, breakthrough,
  prev_sig_ftp AS ftp_before, sig_ftp AS ftp_after, sig_ftp - prev_sig_ftp AS ftp_change,
  prev_sig_pp AS pp_before, sig_pp AS pp_after, sig_pp - prev_sig_pp AS pp_change,
  prev_sig_atc AS atc_before, sig_atc AS atc_after, sig_atc - prev_sig_atc AS atc_change
FROM training.activities
WHERE absent_since IS NULL AND (medal > 0 OR breakthrough > 0);
--> statement-breakpoint
COMMENT ON COLUMN training.records."breakthrough" IS 'Breakthrough, a whole number of the service; 0, -1 and NULL are none';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."breakthrough" IS 'Breakthrough, a whole number of the service; 0, -1 and NULL are none';
