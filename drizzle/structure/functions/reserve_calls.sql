-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0030_shared_pace
CREATE OR REPLACE FUNCTION musette.reserve_calls(self uuid, number integer, busy integer, wanted integer, most integer, fastest integer, calm boolean,
  OUT allowed integer, OUT callers integer, OUT requests_per_minute integer, OUT waits float8[], OUT pauses jsonb)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now bigint;
  ahead bigint;
  burst integer;
  step bigint;
  allowance bigint;
BEGIN
  LOCK TABLE musette.lock_pace IN SHARE UPDATE EXCLUSIVE MODE;
  waits := '{}';
  requests_per_minute := fastest;
  IF wanted IS NOT NULL THEN
    SELECT s.allowed, s.callers, s.requests_per_minute INTO allowed, callers, requests_per_minute
    FROM musette.share_calls(self, busy, wanted, most, fastest) s;
    number := least(number, allowed - busy);
    requests_per_minute := coalesce(requests_per_minute, fastest);
  END IF;
  IF number > 0 THEN
    now := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    -- A leaky bucket (GCRA): after the burst the pace is lower by the burst, and by the second that a process may let pass.
    burst := least(10, greatest(1, requests_per_minute / 10));
    step := ceil(61000000::float8 / (requests_per_minute - burst + 1));
    allowance := (burst - 1) * step;
    ahead := (SELECT last_value FROM musette.spent_until);
    -- Nobody knows what was sent before a crash of Postgres, or while it did not answer: there is no burst.
    IF calm OR ahead = 0 THEN
      ahead := greatest(ahead, now + allowance);
    END IF;
    -- Nothing is given out for later than a minute. A clock that is set back must not delay requests for longer.
    ahead := least(ahead, now + 60000000 + allowance + step);
    WHILE cardinality(waits) < number AND ahead - allowance - now <= 60000000 LOOP
      waits := waits || greatest(0, ahead - allowance - now) / 1000.0::float8;
      ahead := greatest(now, ahead) + step;
    END LOOP;
    -- Where the sequence is in the log, nobody waits for that.
    PERFORM set_config('synchronous_commit', 'off', true), setval('musette.spent_until', ahead);
  END IF;
  pauses := (SELECT jsonb_object_agg(origin, extract(epoch FROM until - clock_timestamp()) * 1000) FROM musette.service_pauses
    WHERE until > clock_timestamp() AND until <= clock_timestamp() + lasts);
END
$$;

-- Comments, last changed by 0030_shared_pace
COMMENT ON FUNCTION musette.reserve_calls(uuid,integer,integer,integer,integer,integer,boolean) IS 'Gives out up to number requests to the process self: how long to wait before each, in ms, so that all processes keep one pace in any 60 seconds, when none is sent more than a second late. busy is what it has under way or given out; with wanted, which is what it wants to have, it shares the concurrency anew, see share_calls. calm allows no burst. Returns the pauses of services as well, in ms.';
