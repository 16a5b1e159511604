-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0010_views_name_accounts
CREATE OR REPLACE VIEW training.sample_extra_values AS
SELECT v.account_id,
    v.activity_id,
    v.field,
    v.t,
    v.ordinal,
    v.value,
    v.other,
    a.name AS account
   FROM ( SELECT a_1.account_id,
            a_1.activity_id,
            x.field,
            s.t,
            s.ordinal,
            v_1.value,
            x.others -> v_1.place::text AS other
           FROM training.activities a_1
             JOIN training.sample_extras x ON x.activity_id = a_1.activity_id
             CROSS JOIN LATERAL unnest(x."values") WITH ORDINALITY v_1(value, place)
             JOIN LATERAL ( SELECT samples.t,
                    samples.ordinal,
                    row_number() OVER (ORDER BY samples.t NULLS FIRST, samples.ordinal) AS place
                   FROM training.samples
                  WHERE samples.activity_id = a_1.activity_id) s ON s.place = v_1.place
          WHERE a_1.absent_since IS NULL) v
     LEFT JOIN training.accounts a ON a.account_id = v.account_id;

-- Comments, last changed by 0010_views_name_accounts
COMMENT ON VIEW training.sample_extra_values IS 'The fields of sample_extras with the time of their samples, one row for each field of each sample. Select by activity_id; to join with samples, compare activity_id, t and ordinal (IS NOT DISTINCT FROM).';
COMMENT ON COLUMN training.sample_extra_values.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.sample_extra_values.activity_id IS 'Activity, see activities';
COMMENT ON COLUMN training.sample_extra_values.field IS 'Name of the field as the service sends it';
COMMENT ON COLUMN training.sample_extra_values.t IS 'Time of the sample';
COMMENT ON COLUMN training.sample_extra_values.ordinal IS 'Place among the samples that share this time, see samples';
COMMENT ON COLUMN training.sample_extra_values.value IS 'Number of the sample; NULL where it has none; unit not told by the service';
COMMENT ON COLUMN training.sample_extra_values.other IS 'Value that is no number; NULL where the sample has a number or nothing';
COMMENT ON COLUMN training.sample_extra_values.account IS 'Name of the account';

-- Rights, last changed by 0037_held_logins
ALTER VIEW training.sample_extra_values SET (security_invoker=true);
GRANT SELECT ON training.sample_extra_values TO musette_one_account, musette_reader;
