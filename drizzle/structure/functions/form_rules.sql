-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.form_rules(account integer) RETURNS TABLE (convention text, form_is_difference boolean, reason text,
  tau double precision[], gain double precision[], tolerance double precision[], recovery_tau double precision[],
  recovery_gain double precision[], recovery_tolerance double precision[])
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT min(convention) AS convention, bool_and(form_is_difference) AS form_is_difference,
  min(reason) FILTER (WHERE reason <> 'this load has always been 0') AS reason,
  array_agg(coalesce(tau_days, 1) ORDER BY place) FILTER (WHERE load = 'training') AS tau,
  array_agg(coalesce(gain, 0) ORDER BY place) FILTER (WHERE load = 'training') AS gain,
  array_agg(coalesce(tolerance, 0) ORDER BY place) FILTER (WHERE load = 'training') AS tolerance,
  array_agg(coalesce(tau_days, 1) ORDER BY place) FILTER (WHERE load = 'recovery') AS recovery_tau,
  array_agg(coalesce(gain, 0) ORDER BY place) FILTER (WHERE load = 'recovery') AS recovery_gain,
  array_agg(coalesce(tolerance, 0) ORDER BY place) FILTER (WHERE load = 'recovery') AS recovery_tolerance
FROM training.form_constants
CROSS JOIN LATERAL (SELECT array_position('{low,high,peak}'::text[], system)) AS s (place)
WHERE account_id = account GROUP BY account_id;
END;

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.form_rules(integer) IS 'The constants of an account in one row, as arrays of low, high and peak; of a load that is always 0 what leaves it there.';
