-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0027_days_and_weeks
CREATE OR REPLACE VIEW training.today AS
SELECT a.account_id, training.local_time(now(), clock.timezone) - training.local_time(now(), 'UTC') AS utc_offset, present.day,
  clock.timezone, clock.timezone_source, a.name AS account
FROM training.accounts a
CROSS JOIN LATERAL (
  SELECT musette.zone_for_queries(zone.timezone, zone.utc_offset) AS timezone, zone.timezone_source
  FROM (
    (SELECT a.timezone, NULL::interval AS utc_offset, 'setting' AS timezone_source WHERE a.timezone IS NOT NULL)
    UNION ALL
    (SELECT v.timezone, v.started_at_local - v.started_at AT TIME ZONE 'UTC', v.timezone_source FROM training.activities v
    WHERE a.timezone IS NULL AND v.account_id = a.account_id AND v.absent_since IS NULL AND v.started_at IS NOT NULL
    ORDER BY v.started_at DESC LIMIT 1)
    UNION ALL
    (SELECT 'UTC', interval '0', 'unknown')
  ) zone
  LIMIT 1
  OFFSET 0
) clock
CROSS JOIN LATERAL (SELECT training.local_day(now(), clock.timezone) AS day) present;

-- Comments, last changed by 0010_views_name_accounts
COMMENT ON VIEW training.today IS 'Derived: which day it is for each account: in the time zone of its home (accounts.timezone) where that is set, else in that of its newest activity, else in UTC. The service tells no time zone of an account.';
COMMENT ON COLUMN training.today.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.today.utc_offset IS 'Derived: wall clock minus UTC there, now';
COMMENT ON COLUMN training.today.day IS 'Derived: the present day there';
COMMENT ON COLUMN training.today.timezone IS 'Derived: the time zone, for AT TIME ZONE; <+05:45>-05:45 is one that always has this offset';
COMMENT ON COLUMN training.today.timezone_source IS 'Derived: setting, or what told the zone of the newest activity, see activities.timezone_source; unknown where days are UTC';
COMMENT ON COLUMN training.today.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.today SET (security_invoker=true);
GRANT SELECT ON training.today TO musette_one_account, musette_reader;
