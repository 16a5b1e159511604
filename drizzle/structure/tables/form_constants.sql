-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE TABLE training.form_constants (
  account_id integer NOT NULL,
  load text NOT NULL,
  system text NOT NULL,
  tau_days double precision,
  gain double precision,
  residual double precision,
  tolerance double precision,
  activities_used integer NOT NULL,
  activities_known integer NOT NULL,
  convention text,
  form_is_difference boolean,
  reason text,
  fitted_at timestamp with time zone NOT NULL,
  inputs text NOT NULL,
  CONSTRAINT form_constants_account_id_load_system_pk PRIMARY KEY (account_id, load, system),
  CONSTRAINT form_constants_account_id_accounts_account_id_fk FOREIGN KEY (account_id) REFERENCES training.accounts(account_id) ON DELETE CASCADE
);

-- Comments, last changed by 0033_form_by_day
COMMENT ON TABLE training.form_constants IS 'Derived: the constants of an account by which its training and recovery load change, fitted to the loads that the service told with the activities; six rows an account. A load gets score * gain at the start of each activity and falls by exp(-days / tau_days); a recovery load is at least training load * exp(-1 / tau_days). The service does not tell these constants. They are fitted anew when such a value of an activity changes.';
COMMENT ON COLUMN training.form_constants.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.form_constants.load IS 'training or recovery';
COMMENT ON COLUMN training.form_constants.system IS 'low, high or peak: the part of the load, tl_ftp, tl_hie or tl_pp in activities, with the score xlss, xhss or xpss';
COMMENT ON COLUMN training.form_constants.tau_days IS 'Derived: days in which the load falls to 37 % (1 / e) without an activity; NULL where nothing fits';
COMMENT ON COLUMN training.form_constants.gain IS 'Derived: what the load gets for a score of 1, no unit; NULL where nothing fits';
COMMENT ON COLUMN training.form_constants.residual IS 'Derived: root of the mean squared difference between the load that follows from the activity before and the told one, of activities_used; unit not told by the service';
COMMENT ON COLUMN training.form_constants.tolerance IS 'Derived: a told load that differs by more from what follows from the activity before does not follow the rule, see form_by_day; unit not told by the service';
COMMENT ON COLUMN training.form_constants.activities_used IS 'Derived: number of activities whose load follows from the one before, of which tau_days and gain are fitted';
COMMENT ON COLUMN training.form_constants.activities_known IS 'Derived: number of activities, at most the newest 1,000, whose load and that of the one before are known';
COMMENT ON COLUMN training.form_constants.convention IS 'Derived: which load the service tells with an activity: before its start, or after it; what has the smaller residual';
COMMENT ON COLUMN training.form_constants.form_is_difference IS 'Derived: whether the told form of most activities is their training load minus their recovery load';
COMMENT ON COLUMN training.form_constants.reason IS 'Why there are no constants: "fewer than eleven activities have loads", "this load has always been 0", or "the loads follow no rule" (more than half do not, or the residual is more than 2 % of the load); NULL where they fit';
COMMENT ON COLUMN training.form_constants.fitted_at IS 'When they were fitted';
COMMENT ON COLUMN training.form_constants.inputs IS 'Hash of the values that they were fitted to';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.form_constants ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.form_constants TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.form_constants AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.form_constants TO musette_one_account, musette_reader;
