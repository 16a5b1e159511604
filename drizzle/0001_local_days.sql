ALTER TABLE training.accounts ADD COLUMN timezone text,
  ADD COLUMN timezone_set_by text,
  ADD CONSTRAINT accounts_timezone_set_by CHECK (timezone_set_by IN ('account', 'environment'));
COMMENT ON COLUMN training.accounts.timezone IS 'Time zone of the rider''s home, an IANA name such as Europe/Berlin: for the days of activities whose own zone nothing tells, and for today. NULL when it is not set: musette accounts set NAME --timezone ZONE';
COMMENT ON COLUMN training.accounts.timezone_set_by IS 'account: set for this account, at login, by musette accounts set or on the page. environment: taken from MUSETTE_TIMEZONE, which never replaces one that was set for the account. NULL without a time zone';

ALTER TABLE training.activities ADD COLUMN timezone_source text,
  ADD CONSTRAINT activities_timezone_source
    CHECK (timezone_source IN ('service', 'position', 'file', 'nearest', 'setting', 'unknown'));
-- Until now the zone was the one that the service sent. Where that is UTC, musette finds the rider's own at its next start.
UPDATE training.activities SET timezone_source = 'service'
WHERE started_at_local <> started_at AT TIME ZONE 'UTC' OR timezone ~ '/' AND timezone !~* '^etc/(utc|uct|gmt.*|universal|zulu|greenwich)$';
COMMENT ON COLUMN training.activities.timezone IS 'Derived: time zone of started_at_local, an IANA name wherever one is known, else an offset (+02:00) or an abbreviation (EDT) as the service or the FIT file told it; timezone_source tells where it is from. What the service sent is in summary and list_fields';
COMMENT ON COLUMN training.activities.started_at_local IS 'Derived: start on the wall clock of timezone, so that its days are the rider''s; started_at is the instant, which no time zone changes';
COMMENT ON COLUMN training.activities.timezone_source IS 'Derived: what told timezone; the first that is known counts. service: the service sent a zone, abbreviation or offset other than plain UTC. position: the zone at start_lat, start_lng. file: the offset that the FIT file itself holds. nearest: the zone of the activity nearest in time whose zone one of the former told, within 30 days. setting: accounts.timezone. unknown: nothing, so that the wall clock is UTC. NULL when the start cannot be read, or until it is found after an upgrade';
