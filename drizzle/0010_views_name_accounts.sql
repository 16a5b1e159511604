-- Each view also says the name of the account, in its last column: the columns before it keep their places, as views over it and
-- programs expect. Postgres leaves a LEFT JOIN by a key out where a query does not use its columns.
DO $$
DECLARE
  view record;
BEGIN
  FOR view IN
    SELECT named.relation, pg_get_viewdef(c.oid) AS definition,
      'WITH (' || array_to_string(c.reloptions, ', ') || ')' AS options,
      (SELECT string_agg(format('v.%I', attname), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid) AS columns
    FROM unnest('{changes_settled,daily_load,fit_field_values,fitness_history,form_history,power_bests,recalculations,records,
      ride_files,ride_intensity,ride_laps,sample_extra_values,today,upload_journey,weekly_summary,zones_by_week}'::text[])
      AS named (relation)
    JOIN pg_class c ON c.oid = format('training.%I', named.relation)::regclass
  LOOP
    EXECUTE format('CREATE OR REPLACE VIEW training.%I %s AS SELECT %s, a.name AS account FROM (%s) v '
      'LEFT JOIN training.accounts a ON a.account_id = v.account_id',
      view.relation, view.options, view.columns, rtrim(view.definition, ';'));
    EXECUTE format('COMMENT ON COLUMN training.%I.account IS %L', view.relation, 'Name of the account');
  END LOOP;
END
$$;
--> statement-breakpoint
COMMENT ON COLUMN training.changes_settled.account IS 'Name of the account; NULL for the default workout list and for a restore';
