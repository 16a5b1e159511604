-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0035_rest_days
CREATE OR REPLACE VIEW training.mirror_health AS
SELECT account_id,
    account,
    item,
    month,
    count,
    at,
    detail
   FROM ( SELECT a.account_id,
            a.name AS account,
            i_1.item,
            i_1.month,
            i_1.count,
            i_1.at,
            i_1.detail
           FROM training.accounts a
             CROSS JOIN LATERAL ( SELECT 'needs login'::text AS item,
                    NULL::date AS month,
                    a.needs_login::integer::bigint AS count,
                    NULL::timestamp with time zone AS at,
                    a.last_error AS detail
                UNION ALL
                 SELECT 'last good poll'::text AS text,
                    NULL::date AS date,
                    NULL::bigint AS int8,
                    max(good.finished_at) AS max,
                    NULL::text AS text
                   FROM ( VALUES ('poll'::text), ('backfill'::text)) way(kind)
                     CROSS JOIN LATERAL ( SELECT r.finished_at
                           FROM training.sync_runs r
                          WHERE r.account_id = a.account_id AND r.resource = 'activities'::text AND r.kind = way.kind AND (r.outcome = ANY (ARRAY['done'::text, 'partial'::text]))
                          ORDER BY r.started_at DESC
                         LIMIT 1) good
                UNION ALL
                 SELECT 'last reconcile'::text AS text,
                    NULL::date AS date,
                    good.listed,
                    good.finished_at,
                    newest.error
                   FROM ( SELECT) one
                     LEFT JOIN LATERAL ( SELECT r.finished_at,
                            r.listed
                           FROM training.sync_runs r
                          WHERE r.account_id = a.account_id AND r.resource = 'activities'::text AND r.kind = 'reconcile'::text AND (r.outcome = ANY (ARRAY['done'::text, 'partial'::text]))
                          ORDER BY r.started_at DESC
                         LIMIT 1) good ON true
                     LEFT JOIN LATERAL ( SELECT r.error
                           FROM training.sync_runs r
                          WHERE r.account_id = a.account_id AND r.resource = 'activities'::text AND r.kind = 'reconcile'::text AND r.outcome <> 'running'::text
                          ORDER BY r.started_at DESC
                         LIMIT 1) newest ON true
                UNION ALL
                 SELECT state.item,
                    NULL::date AS date,
                    COALESCE(v.count, 0::bigint) AS "coalesce",
                        CASE
                            WHEN state.waits THEN v.since
                            ELSE NULL::timestamp with time zone
                        END AS "case",
                        CASE
                            WHEN state.waits THEN v.error
                            ELSE NULL::text
                        END AS "case"
                   FROM ( VALUES ('activities mirrored'::text,'mirrored'::text,false), ('activities wanted'::text,'wanted'::text,true), ('activities awaiting samples'::text,'awaiting_samples'::text,true), ('activities failed'::text,'failed'::text,true)) state(item, detail_state, waits)
                     LEFT JOIN ( SELECT activities.detail_state,
                            count(*) AS count,
                            min(activities.wanted_at) AS since,
                            (array_agg(activities.fetch_error ORDER BY activities.wanted_at DESC) FILTER (WHERE activities.fetch_error IS NOT NULL))[1] AS error
                           FROM training.activities
                          WHERE activities.account_id = a.account_id AND activities.absent_since IS NULL
                          GROUP BY activities.detail_state) v USING (detail_state)
                UNION ALL
                 SELECT 'uploads on their way'::text AS text,
                    NULL::date AS date,
                    count(*) AS count,
                    min(u.seen_at) AS min,
                    (array_agg(u.reason ORDER BY u.seen_at DESC) FILTER (WHERE u.reason IS NOT NULL))[1] AS array_agg
                   FROM training.uploads u
                  WHERE u.account_id = a.account_id AND (u.state = ANY (ARRAY['seen'::text, 'sending'::text, 'unconfirmed'::text, 'accepted'::text]))
                UNION ALL
                ( WITH ridden AS MATERIALIZED (
                         SELECT DISTINCT date_trunc('month'::text, activities.started_at_local)::date AS month
                           FROM training.activities
                          WHERE activities.account_id = a.account_id AND activities.absent_since IS NULL AND activities.started_at_local IS NOT NULL
                        )
                 SELECT 'month without activities'::text AS text,
                    each.month,
                    0,
                    NULL::timestamp with time zone AS timestamptz,
                    NULL::text AS text
                   FROM ( SELECT ( SELECT min(ridden.month) AS min
                                   FROM ridden) AS first,
                            ( SELECT t.day
                                   FROM training.today t
                                  WHERE t.account_id = a.account_id) AS last) span
                     CROSS JOIN LATERAL ( SELECT age(span.last::timestamp without time zone, span.first::timestamp without time zone) AS age) length
                     CROSS JOIN LATERAL ( SELECT (span.first + n.n::double precision * '1 mon'::interval)::date AS month
                           FROM generate_series(0, (date_part('year'::text, length.age) * 12::double precision + date_part('month'::text, length.age))::integer) n(n)) each
                  WHERE NOT (each.month IN ( SELECT ridden.month
                           FROM ridden)))
                UNION ALL
                 SELECT (('last run of '::text || pass.resource) || ' '::text) || pass.kind,
                    NULL::date AS date,
                    run.failed,
                    run.started_at,
                    concat_ws(': '::text, run.outcome, run.error) AS concat_ws
                   FROM ( WITH RECURSIVE known AS (
                                ( SELECT r.resource,
                                    r.kind
                                   FROM training.sync_runs r
                                  WHERE r.account_id = a.account_id
                                  ORDER BY r.resource, r.kind
                                 LIMIT 1)
                                UNION ALL
                                 SELECT next.resource,
                                    next.kind
                                   FROM known k
                                     CROSS JOIN LATERAL ( SELECT r.resource,
    r.kind
   FROM training.sync_runs r
  WHERE r.account_id = a.account_id AND ((ROW(r.resource, r.kind) > ROW(k.resource, k.kind)))
  ORDER BY r.resource, r.kind
 LIMIT 1) next
                                )
                         SELECT known.resource,
                            known.kind
                           FROM known) pass
                     CROSS JOIN LATERAL ( SELECT r.started_at,
                            r.outcome,
                            r.failed,
                            r.error
                           FROM training.sync_runs r
                          WHERE r.account_id = a.account_id AND r.resource = pass.resource AND r.kind = pass.kind
                          ORDER BY r.started_at DESC
                         LIMIT 1) run) i_1) i
  WHERE month IS NULL OR month >= '1970-01-01'::date;

-- Comments, last changed by 0035_rest_days
COMMENT ON VIEW training.mirror_health IS 'How well the mirror is: one row a thing to look at, for each account.';
COMMENT ON COLUMN training.mirror_health.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.mirror_health.account IS 'Name of the account';
COMMENT ON COLUMN training.mirror_health.item IS 'needs login; last good poll; last reconcile; activities mirrored, wanted, awaiting samples, failed; uploads on their way; month without activities, a row each, between the first activity and today; last run of <resource> <kind>, a row each';
COMMENT ON COLUMN training.mirror_health.month IS 'First day of the month, from 1970 on, for months without activities';
COMMENT ON COLUMN training.mirror_health.count IS 'How many: activities or uploads; 1 when a login is needed, else 0; entries in the list that was compared; items that failed in the last run';
COMMENT ON COLUMN training.mirror_health.at IS 'End of the last good poll or reconcile, NULL when there was none; start of the last run; since when the oldest activity or upload waits';
COMMENT ON COLUMN training.mirror_health.detail IS 'In words: last failure of the tokens; why the last reconcile changed nothing; newest reason of what failed or waits; outcome of the last run';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.mirror_health SET (security_invoker=true);
GRANT SELECT ON training.mirror_health TO musette_one_account, musette_reader;
