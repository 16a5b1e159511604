-- One call at a time keeps one pace without a list of the processes.
CREATE FUNCTION musette.take_call(requests_per_minute integer, OUT wait_ms float8, OUT pauses jsonb)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint;
  ahead bigint;
  burst integer := least(10, greatest(1, requests_per_minute / 10));
  -- A leaky bucket (GCRA): the pace is lower by the burst, and by the second by which a call may start late.
  step bigint := ceil(61000000::float8 / (requests_per_minute - burst + 1));
  allowance bigint := (burst - 1) * step;
BEGIN
  LOCK TABLE musette.lock_pace IN SHARE UPDATE EXCLUSIVE MODE;
  now := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
  ahead := (SELECT last_value FROM musette.spent_until);
  -- The sequence is 0 after a crash of Postgres. Nobody knows what was sent before, so there is no burst.
  IF ahead = 0 THEN
    ahead := now + allowance;
  END IF;
  wait_ms := greatest(0, ahead - allowance - now) / 1000.0::float8;
  -- Where the sequence is in the WAL, nobody waits for it.
  PERFORM set_config('synchronous_commit', 'off', true);
  IF wait_ms = 0 THEN
    PERFORM setval('musette.spent_until', greatest(now, ahead) + step);
  ELSIF ahead > now + allowance + step THEN
    -- The clock was set back: the next call waits one interval.
    PERFORM setval('musette.spent_until', now + allowance + step);
    wait_ms := step / 1000.0::float8;
  END IF;
  pauses := (SELECT jsonb_object_agg(origin, extract(epoch FROM until - clock_timestamp()) * 1000) FROM musette.service_pauses
    WHERE until > clock_timestamp() AND until <= clock_timestamp() + lasts);
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.take_call(integer) IS 'Grants one call to the service (wait_ms is 0) or says in how many ms to ask again, so that all processes together keep the pace in any 60 seconds if each call starts within a second of its grant. Also returns how long the pause of each service still lasts, in ms';
--> statement-breakpoint
DROP FUNCTION musette.reserve_calls(uuid, integer, integer, integer, integer, integer, boolean);
--> statement-breakpoint
DROP FUNCTION musette.share_calls(uuid, integer, integer, integer, integer);
--> statement-breakpoint
ALTER SEQUENCE musette.spent_until OWNED BY musette.service_pauses.until;
--> statement-breakpoint
DROP TABLE musette.callers;
