import type { Recipe } from './recipe.ts'

/** Questions about the mirror itself. */
export const MIRROR: readonly Recipe[] = [
  {
    number: 11,
    name: 'what_recalculation_changed',
    question: 'What did the recalculation change?',
    sql: `
      select r.account, r.day_observed, r.activities, round(r.xss_before) as xss_before, round(r.xss_after) as xss_after,
        round(r.xss_change) as xss_change, round(r.ftp_before::numeric, 1) as mean_ftp_before,
        round(r.ftp_after::numeric, 1) as mean_ftp_after, r.first_ride, r.last_ride
      from training.recalculations r
      order by r.account, r.observed_from desc;`,
    reading: `
      One row for each time that the service recalculated the history: the same rides, their strain before and after, and the mean of
      their thresholds. \`activity_revisions\` has every change of every ride, with old and new values.`,
  },
  {
    number: 12,
    name: 'dropped_file',
    question: 'What became of the file I dropped?',
    sql: `
      select u.account, u.file_name, u.state, to_char(training.local_time(u.seen_at, t.timezone), 'MM-DD HH24:MI') as seen, u.took, u.activity_name,
        round(u.xss) as xss, round(u.ftp_before::numeric, 1) as ftp_before, round(u.ftp_change::numeric, 1) as ftp_change, u.reason
      from training.today t
      cross join lateral (
        select * from training.upload_journey j
        where j.account_id = t.account_id
        order by j.seen_at desc, j.content_id, j.file_name limit 10
      ) u
      order by u.account, u.seen_at desc, u.content_id, u.file_name;`,
    reading: `
      One row for each file, with the score of its activity. \`took\` is the time from the moment musette saw the file until its samples
      were here. \`reason\` says why a file was refused.`,
  },
  {
    number: 19,
    name: 'rides_on_their_way',
    question: 'Which rides are still on their way, and which could not be had?',
    sql: `
      select c.name as account, a.started_at_local as started, a.name, a.detail_state, a.fetch_attempts, a.fetch_error
      from training.activities a join training.accounts c using (account_id)
      where a.absent_since is null and a.detail_state <> 'mirrored'
      order by c.name, a.started_at desc nulls last, a.activity_id desc;`,
    reading: `
      A ride with \`awaiting_samples\` comes by itself. A ride with \`failed\` has a reason and is tried again with growing pauses. No rows
      mean that everything that the service lists is here.`,
  },
]
