import type { Breaking } from '../promises.ts'

/** Breaks what docs/guarantees.md promises under "In which order", "The change feed" and "Seen when". */
export const ORDER: readonly Breaking[] = [
  {
    promise: 'The first pass fetches the newest activities first',
    in: 'src/core/store/activities/wanted.ts',
    from: 'sql`${desc(activities.startedAt)} nulls last`, desc(activities.activityId))',
    to: 'sql`${asc(activities.startedAt)} nulls last`, desc(activities.activityId))',
  },
  {
    promise: 'New activities (14 days) overtake those that only changed',
    in: 'src/program/daemon/handlers.ts',
    from: "if (activity.startedAt !== null && activity.startedAt >= newSince) return 'new'",
    to: "if (activity.startedAt !== null && activity.startedAt >= newSince) return 'changed'",
  },
  {
    promise: 'New activities (14 days) overtake those that only changed',
    in: 'src/core/jobs/queues.ts',
    from: '{ new: 1, normal: 5, changed: 10 }',
    to: '{ new: 10, normal: 10, changed: 10 }',
  },
  {
    promise: 'The cursor moves in the transaction of its rows, so an interrupted pass continues',
    in: 'src/core/mirror/poll-activities.ts',
    from: 'await recordCursor(tx, { ...key, updatedFrom: knownUpTo ?? ownClock(deps, account, requestedAt) })',
    to: 'await deps.store.transaction((own) => recordCursor(own, { ...key, updatedFrom: knownUpTo ?? ownClock(deps, account, requestedAt) }))',
  },
  {
    promise: 'The ledger has a file before its first byte is sent',
    in: 'src/core/upload/send-file.ts',
    from: "return { state: 'sending' as const,",
    to: "return { state: 'seen' as const,",
  },
  {
    promise: 'Files found together are begun in the order of their dates',
    in: 'src/core/dropfolder/drop-folder.ts',
    from: 'walked.found.sort((a, b) => a.identity.mtimeMs - b.identity.mtimeMs)',
    to: 'walked.found.sort((a, b) => b.identity.mtimeMs - a.identity.mtimeMs)',
  },
  {
    promise: 'A change is in `training.changes` exactly when its transaction is committed',
    in: 'drizzle/0020_settled_beside_readers.sql',
    from: 'INSERT INTO training.changes (account_id, kind, path, detail) VALUES (account_id, kind, path, detail);',
    to: "INSERT INTO training.changes (account_id, kind, path, detail) SELECT account_id, kind, path, detail WHERE kind = 'none';",
  },
  {
    promise: 'Numbers come in the order of the commits',
    in: 'drizzle/0020_settled_beside_readers.sql',
    from: "PERFORM FROM musette.locks WHERE name = 'changes' FOR UPDATE;",
    to: "PERFORM FROM musette.locks WHERE name = 'changes';",
  },
  {
    promise: 'A reader of `changes_settled` that goes on from its highest number misses none',
    in: 'drizzle/0020_settled_beside_readers.sql',
    from: 'CREATE TRIGGER lock_changes BEFORE INSERT',
    to: 'CREATE TRIGGER lock_changes AFTER INSERT',
  },
  {
    promise: '… and no open transaction of others delays it',
    in: 'drizzle/0020_settled_beside_readers.sql',
    from: 'LEFT JOIN training.accounts a ON a.account_id = c.account_id;',
    to: 'LEFT JOIN training.accounts a ON a.account_id = c.account_id WHERE c.transaction_id < pg_snapshot_xmin(pg_current_snapshot());',
  },
  {
    promise: 'A reader that missed deleted changes is told so',
    in: 'src/core/store/feed/change-rows.ts',
    from: 'if (first !== null && since > 0 && since < first) {',
    to: 'if (first !== null && since > 0 && since < 0) {',
  },
  {
    promise: 'A reader that missed deleted changes is told so',
    in: 'src/core/store/feed/change-rows.ts',
    from: 'WHERE change_id < (SELECT old FROM last) ORDER BY',
    to: 'WHERE change_id <= (SELECT old FROM last) ORDER BY',
  },
  {
    promise: 'the samples of a new activity, while the service has none',
    in: 'src/core/mirror/mirror-activity.ts',
    from: 'const isAwaiting = derived.samples.count === 0 && isYoung(activity, requestedAt)',
    to: 'const isAwaiting = derived.samples.count < 0 && isYoung(activity, requestedAt)',
  },
  {
    promise: 'an activity that failed by itself',
    in: 'src/core/store/activities/wanted.ts',
    from: 'lte(activities.nextFetchAt, now),',
    to: 'lte(activities.nextFetchAt, new Date(0)),',
  },
  {
    promise: 'an activity that failed by itself',
    in: 'src/core/store/activities/upsert-listed.ts',
    from: "WHEN b.wanted AND a.detail_state IN ('awaiting_samples', 'failed') THEN $3::timestamptz",
    to: "WHEN b.wanted AND a.detail_state IN ('awaiting_samples') THEN $3::timestamptz",
  },
  {
    promise: 'the work of a process that was killed',
    in: 'src/core/jobs/jobs.ts',
    from: 'stalledMs: options.stalledMs ?? STALLED_EVERY_MS,',
    to: 'stalledMs: 1_000_000,',
  },
  {
    promise: 'a file in the drop folder',
    in: 'src/core/dropfolder/drop-folder.ts',
    from: 'if (options.polling) return Math.min(every, POLL_EVERY_MS)',
    to: 'if (options.polling) return every * 10_000',
  },
  {
    promise: 'an upload whose answer was lost',
    in: 'src/core/upload/check-upload.ts',
    from: 'if (resendAfter && resendAfter <= requestedAt) {',
    to: 'if (resendAfter) {',
  },
  {
    promise: 'an upload whose answer was lost',
    in: 'src/core/upload/check-upload.ts',
    from: "return { state: 'seen' as const, reason, nextTryAt: null, resendAfter: null, checks: 0 }",
    to: "return { state: 'unconfirmed' as const, reason, nextTryAt: null, resendAfter: null, checks: 0 }",
  },
]
