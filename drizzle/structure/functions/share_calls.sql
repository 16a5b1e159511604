-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0030_shared_pace
CREATE OR REPLACE FUNCTION musette.share_calls(self uuid, busy integer, wanted integer, most integer, fastest integer,
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

-- Comments, last changed by 0030_shared_pace
COMMENT ON FUNCTION musette.share_calls(uuid,integer,integer,integer,integer) IS 'Gives a process its share of the requests under way, as far as the others leave it, and its lease of 10 seconds; NULL when it has wanted none for some seconds, and at once when wanted is negative: then it shares no more. The lowest settings of all processes hold. Only under the lock of lock_pace.';
