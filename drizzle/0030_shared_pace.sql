-- What processes that use the service at one time share. It is worth nothing after a crash of Postgres, so nothing of it is written to the log.
CREATE UNLOGGED TABLE musette.callers (
  caller uuid PRIMARY KEY,
  allowed integer NOT NULL,
  demand integer NOT NULL,
  concurrency integer NOT NULL,
  requests_per_minute integer NOT NULL,
  until timestamptz NOT NULL
);
--> statement-breakpoint
COMMENT ON TABLE musette.callers IS 'The processes that request something from the service at this time. Not in backups';
--> statement-breakpoint
COMMENT ON COLUMN musette.callers.caller IS 'Number of the process, another one after each start';
--> statement-breakpoint
COMMENT ON COLUMN musette.callers.allowed IS 'Requests that it may have under way at one time: its share of the concurrency';
--> statement-breakpoint
COMMENT ON COLUMN musette.callers.demand IS 'Requests that it wants to have under way at one time';
--> statement-breakpoint
COMMENT ON COLUMN musette.callers.concurrency IS 'Its MUSETTE_CONCURRENCY; the lowest holds for all';
--> statement-breakpoint
COMMENT ON COLUMN musette.callers.requests_per_minute IS 'Its MUSETTE_REQUESTS_PER_MINUTE; the lowest holds for all';
--> statement-breakpoint
COMMENT ON COLUMN musette.callers.until IS 'When it counts as dead, unless it calls again';
--> statement-breakpoint
-- A sequence is changed in place. A row would leave a dead version at each request, which no vacuum removes during a long backup.
CREATE SEQUENCE musette.spent_until MINVALUE 0 START 0 OWNED BY musette.callers.until;
--> statement-breakpoint
-- Before Postgres 15 every sequence is in the log.
DO $$ BEGIN
  IF current_setting('server_version_num')::int >= 150000 THEN
    EXECUTE 'ALTER SEQUENCE musette.spent_until SET UNLOGGED';
  END IF;
END $$;
--> statement-breakpoint
COMMENT ON SEQUENCE musette.spent_until IS 'Until when the allowed requests are given out, in microseconds since 1970 by the clock of the server';
--> statement-breakpoint
CREATE UNLOGGED TABLE musette.service_pauses (origin text PRIMARY KEY, until timestamptz NOT NULL, lasts interval NOT NULL);
--> statement-breakpoint
COMMENT ON TABLE musette.service_pauses IS 'The last pause of each service that asked to wait. Not in backups';
--> statement-breakpoint
COMMENT ON COLUMN musette.service_pauses.origin IS 'Origin of the addresses of the service';
--> statement-breakpoint
COMMENT ON COLUMN musette.service_pauses.until IS 'End of the pause, by the clock of the server';
--> statement-breakpoint
COMMENT ON COLUMN musette.service_pauses.lasts IS 'Its whole time; when more is left, the clock was set back, and the pause is over';
--> statement-breakpoint
CREATE VIEW musette.lock_pace AS SELECT true AS lockable;
--> statement-breakpoint
COMMENT ON VIEW musette.lock_pace IS 'Locked by the statement that gives out requests to the service';
--> statement-breakpoint
COMMENT ON COLUMN musette.lock_pace.lockable IS 'Always true: the lock is what matters';
--> statement-breakpoint
CREATE FUNCTION musette.share_calls(self uuid, busy integer, wanted integer, most integer, fastest integer,
  OUT allowed integer, OUT callers integer, OUT requests_per_minute integer)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now timestamptz := clock_timestamp();
  own musette.callers;
  renews boolean;
BEGIN
  -- One that ends later than any can was written before the clock was set back: who lives writes it anew.
  IF EXISTS (SELECT FROM musette.callers c WHERE c.until NOT BETWEEN now AND now + interval '11 s') THEN
    DELETE FROM musette.callers c WHERE c.until NOT BETWEEN now AND now + interval '11 s';
  END IF;
  SELECT * INTO own FROM musette.callers c WHERE c.caller = self;
  -- The highest demand counts for 5 seconds: few versions of the row are made, which no vacuum removes during a long backup.
  renews := own.until IS NULL OR own.until <= now + interval '5 s' OR wanted > own.demand;
  IF NOT renews AND wanted >= 0 THEN
    wanted := own.demand;
  END IF;
  IF wanted <= 0 THEN
    DELETE FROM musette.callers c WHERE c.caller = self;
    RETURN;
  END IF;
  -- Each gets the same; what does not divide goes round, so that each one is served when they are more than the requests.
  WITH live AS (
    SELECT c.caller, c.allowed, c.demand, c.concurrency, c.requests_per_minute FROM musette.callers c WHERE c.caller <> self
    UNION ALL SELECT self, 0, wanted, most, fastest
  ), counted AS (
    SELECT *, count(*) OVER () AS n, min(concurrency) OVER () AS most, row_number() OVER (ORDER BY caller) - 1 AS place,
      floor(extract(epoch FROM now) / 2)::bigint AS round
    FROM live
  ), shared AS (
    SELECT *, c.most / n + CASE WHEN (place + round * (c.most % n)) % n < c.most % n THEN 1 ELSE 0 END AS share FROM counted c
  )
  SELECT greatest(0, least(wanted, min(s.most) - coalesce(sum(s.allowed), 0), greatest(sum(share) FILTER (WHERE caller = self),
      min(s.most) - coalesce(sum(least(demand, share)) FILTER (WHERE caller <> self), 0)))),
    count(*), min(s.requests_per_minute)
  INTO allowed, callers, requests_per_minute FROM shared s;
  IF renews OR (own.allowed, own.concurrency, own.requests_per_minute) <> (greatest(busy, allowed), most, fastest) THEN
    INSERT INTO musette.callers AS c
    VALUES (self, greatest(busy, allowed), wanted, most, fastest, CASE WHEN renews THEN now + interval '10 s' ELSE own.until END)
    ON CONFLICT (caller) DO UPDATE SET allowed = excluded.allowed, demand = excluded.demand, concurrency = excluded.concurrency,
      requests_per_minute = excluded.requests_per_minute, until = excluded.until;
  END IF;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.share_calls(uuid, integer, integer, integer, integer) IS 'Gives a process its share of the requests under way, as far as the others leave it, and its lease of 10 seconds; NULL when it has wanted none for some seconds, and at once when wanted is negative: then it shares no more. The lowest settings of all processes hold. Only under the lock of lock_pace.';
--> statement-breakpoint
CREATE FUNCTION musette.reserve_calls(self uuid, number integer, busy integer, wanted integer, most integer, fastest integer, calm boolean,
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
--> statement-breakpoint
COMMENT ON FUNCTION musette.reserve_calls(uuid, integer, integer, integer, integer, integer, boolean) IS 'Gives out up to number requests to the process self: how long to wait before each, in ms, so that all processes keep one pace in any 60 seconds, when none is sent more than a second late. busy is what it has under way or given out; with wanted, which is what it wants to have, it shares the concurrency anew, see share_calls. calm allows no burst. Returns the pauses of services as well, in ms.';
