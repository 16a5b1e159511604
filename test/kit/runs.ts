/** Returns the statement that inserts a run `ago`. With `account` = `account_id` it belongs to the first account. */
export const run = (resource: string, ago: string, outcome: string, kind = 'schedule', account = 'null') =>
  `insert into training.sync_runs (account_id, resource, kind, started_at, finished_at, outcome, failed, error)
   select ${account}, '${resource}', '${kind}', now() - interval '${ago}', now() - interval '${ago}', '${outcome}', 1,
     nullif('${outcome}', 'done') from training.accounts`

export const poll = (ago: string, outcome = 'done') => run('activities', ago, outcome, 'poll', 'account_id')
