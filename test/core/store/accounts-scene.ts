import { queryOnce } from '../../kit/postgres.ts'

/** A text in every row of the other accounts. Numbers are 100 in rows of the account "mine", and higher in rows of the others. */
export const MARK = 'of-somebody-else'

/** Writes the account "mine" and `others` more, each with a row in every kind of table. */
export async function fillAccounts(url: string, others: number): Promise<void> {
  const names = ['mine', MARK, ...Array.from({ length: others - 1 }, (_, n) => `${MARK}-${n}`)]
  await queryOnce(
    url,
    `with a as (insert into training.accounts (name, base_url, needs_login) select name, 'http://127.0.0.1:9', false from unnest($1::text[]) name
       returning account_id, name),
     n as (select *, array_position($1::text[], name) - 1 as index from a),
     v as (insert into training.activities (account_id, path, name, listed_at, wanted_at, started_at, started_at_local, sample_count,
         elapsed_s, distance, avg_power, xss, total_grams_carbs, breakthrough)
       select account_id, name || '-path', name || '-ride', now(), now(), '2026-05-01'::date + index, '2026-05-01'::date + index, 1,
         7200, 60, index + 100, 90, 300, 1 from n returning *),
     s as (insert into training.samples (activity_id, t, power) select activity_id, started_at, avg_power from v),
     r as (insert into training.raw_documents (activity_id, fetched_at, sha256, encoding, body)
       select activity_id, now(), n.name, 'gzip', 'x' from v join n using (account_id)),
     u as (insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at, state, activity_id)
       select account_id, n.name, n.name || '.fit', 1, now(), 'mirrored', activity_id from v join n using (account_id)),
     f as (insert into training.fit_files (account_id, content_id, size_bytes, parts, records, fields, read_at, reader_version)
       select account_id, name, 1, 1, 1, '{}', now(), 2 from n returning file_id, account_id),
     fr as (insert into training.fit_records (file_id, position, t, power) select file_id, 1, now(), index + 100 from f join n using (account_id)),
     fm as (insert into training.fit_messages (file_id, position, record, message, fields) select file_id, 1, 1, name, '{}' from f join n using (account_id)),
     m as (insert into training.ride_measures (activity_id, account_id, mean_power, mean_hr, work_kj, best_1_min_after_1000_kj)
       select activity_id, account_id, avg_power, 140, 1500, 250 from v),
     w as (insert into training.workouts (account_id, path, name) select account_id, name, name from n)
     insert into training.sync_runs (account_id, resource, kind, error) select account_id, 'activities', 'poll', name from n`,
    [names],
  )
}
