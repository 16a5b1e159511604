-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
CREATE OR REPLACE VIEW training.recommended_weeks AS
SELECT a.account_id, told.week, told.days, told.xss, a.name AS account
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT training.week_of(day) AS week, count(*)::int AS days, CASE WHEN count(*) = 7 THEN sum(xss) END AS xss
  FROM training.recommended_load r WHERE r.account_id = a.account_id GROUP BY 1
) told;

-- Comments, last changed by 0027_days_and_weeks
COMMENT ON VIEW training.recommended_weeks IS 'Derived: the training load score that the service recommended for each week up to this one, see recommended_load.';
COMMENT ON COLUMN training.recommended_weeks.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.recommended_weeks.week IS 'Monday of the week, see week_of()';
COMMENT ON COLUMN training.recommended_weeks.days IS 'Number of days of the week whose recommendation is known; fewer than seven in the first week only';
COMMENT ON COLUMN training.recommended_weeks.xss IS 'Recommended training load score of the seven days, summed; NULL unless all are known; unit not told by the service';
COMMENT ON COLUMN training.recommended_weeks.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.recommended_weeks SET (security_invoker=true);
GRANT SELECT ON training.recommended_weeks TO musette_one_account, musette_reader;
