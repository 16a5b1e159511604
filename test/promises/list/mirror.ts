import type { Breaking } from '../promises.ts'

/** Breaks what docs/guarantees.md promises under "The mirror equals the service". */
export const MIRROR: readonly Breaking[] = [
  {
    promise: 'After changes, failures and crashes, and then quiet, the tables equal the service',
    in: 'src/core/mirror/list-activities.ts',
    from: 'if (more.length === 0) return null',
    to: 'if (more.length >= 0) return null',
  },
  {
    promise: '… whatever the service answers meanwhile',
    in: 'src/core/mirror/poll-activities.ts',
    from: 'const listing = await listSince(deps, input, known)',
    to: 'await deps.store.transaction((tx) => recordCursor(tx, { ...key, updatedFrom: deps.now() })); const listing = await listSince(deps, input, known)',
  },
  {
    promise: '… wherever a process dies or the database restarts',
    in: 'src/core/store/store.ts',
    from: "within('BEGIN', fn)",
    to: "within('SELECT 1', fn)",
  },
  {
    promise: '… with several workers at once',
    in: 'src/core/store/activities/write-activities.ts',
    from: "detailState: before.wanted_since ? 'wanted' : input.detailState,",
    to: 'detailState: input.detailState,',
  },
  {
    promise: 'Every activity that the service lists is here, with every sample',
    in: 'src/core/store/activities/write-activities.ts',
    from: 'await replaceContent(tx, contents)',
    to: 'await replaceContent(tx, contents.slice(1))',
  },
  {
    promise: 'A list that the service cuts hides none',
    in: 'src/core/mirror/list-activities.ts',
    from: 'const cap = reached ? listCap : await fetchCap(deps, query, wide, parts)',
    to: 'const cap = reached ? listCap : null',
  },
  {
    promise: 'An edit arrives: name, description, scores, samples',
    in: 'src/core/mirror/mirror-activity.ts',
    from: 'if (hashSummary(answer.value) !== activity.summaryHash) return false',
    to: "if (hashSummary(answer.value) === '') return false",
  },
  {
    promise: '… also of an old activity, uploaded late',
    in: 'src/core/mirror/poll-activities.ts',
    from: 'const query = { ...input, window: historyWindow(deps) }',
    to: 'const query = { ...input, window: { ...historyWindow(deps), ...(cursor && { from: cursor.updatedFrom }) } }',
  },
  {
    promise: '… also when the service dates it up to `MUSETTE_LAG` before the last poll',
    in: 'src/core/mirror/poll-activities.ts',
    from: 'const updatedFrom = new Date(cursor.updatedFrom.getTime() - lagMs)',
    to: 'const updatedFrom = new Date(cursor.updatedFrom.getTime())',
  },
  {
    promise: '… also during an earlier request',
    in: 'src/core/store/activities/write-activities.ts',
    from: "detailState: before.wanted_since ? 'wanted' : input.detailState,",
    to: 'detailState: input.detailState,',
  },
  {
    promise: '… also when the service recalculates the whole history',
    in: 'src/program/daemon/handlers.ts',
    from: "for (const priority of ['new', 'normal', 'changed'] as const) {",
    to: "for (const priority of ['new', 'normal'] as const) {",
  },
  {
    promise: '… also of samples alone, within (activities / `MUSETTE_SCRUB_PER_DAY`) days',
    in: 'src/core/store/samples/compare-content.ts',
    from: '...((await holdsRows(tx, activity)) ? [] : await findSampleDifferences(tx, activity)),',
    to: '',
  },
  {
    promise: '… those compared longest ago first',
    in: 'src/core/store/activities/wanted.ts',
    from: '.orderBy(sql`${asc(activities.verifiedAt)} nulls first`, desc(activities.activityId))',
    to: '.orderBy(desc(activities.activityId))',
  },
  {
    promise:
      '`musette verify` finds a value that differs from the service, and writes nothing without `--repair`',
    in: 'src/core/store/samples/compare-content.ts',
    from: 'else found.push({ field: name, mirrored: first.held, service: first.sent, cells: rows.length })',
    to: '',
  },
  {
    promise: '… in every column, and a damaged or missing stored answer; `--repair` brings each back',
    in: 'src/core/store/activities/write-activities.ts',
    from: "...compareMembers('detail_fields', held.detail_fields, fields),",
    to: '',
  },
  {
    promise: 'A deleted activity gets `absent_since`; its rows stay',
    in: 'src/core/mirror/reconcile-activities.ts',
    from: 'const activityIds = removed.map(({ activityId }) => activityId)',
    to: 'const activityIds: number[] = []',
  },
  {
    promise: '… at once, when neither the service nor its list knows a fetched one',
    in: 'src/core/mirror/reconcile-activities.ts',
    from: 'if (!isGone(activity, error)) return false',
    to: 'if (isGone(activity, error)) return false',
  },
  {
    promise: '… it leaves all views but the change feed',
    in: 'drizzle/0019_main_runs_and_sports.sql',
    from: 'WHERE v.absent_since IS NULL AND (v.medal > 0 OR v.breakthrough > 0);',
    to: 'WHERE v.medal > 0 OR v.breakthrough > 0;',
  },
  {
    promise: '… it comes back when listed again',
    in: 'src/core/store/activities/upsert-listed.ts',
    from: 'listed_at = greatest(a.listed_at, $3::timestamptz), absent_since = NULL,',
    to: 'listed_at = greatest(a.listed_at, $3::timestamptz),',
  },
  {
    promise:
      'A list that lacks everything, or more than five activities and a fifth, marks nothing until a person accepts it',
    in: 'src/core/mirror/poorer-answers.ts',
    from: 'if (listed === 0) return before > emptyAllowed',
    to: 'if (listed === 0) return false',
  },
  {
    promise:
      'A list that lacks everything, or more than five activities and a fifth, marks nothing until a person accepts it',
    in: 'src/core/mirror/poorer-answers.ts',
    from: 'return gone > ALWAYS_ALLOWED && gone * 5 > before',
    to: 'return gone > ALWAYS_ALLOWED && gone > before',
  },
  {
    promise:
      'An activity that cannot be mirrored stops no other, has its reason in its row, and is asked for again',
    in: 'src/core/mirror/item-failure.ts',
    from: "if (error instanceof TransientError) return error.code === 'server_error' || error.code === 'cut_answer'",
    to: 'if (error instanceof TransientError) return false',
  },
  {
    promise:
      'An activity that cannot be mirrored stops no other, has its reason in its row, and is asked for again',
    in: 'src/core/store/activities/write-activities.ts',
    from: 'fetchError: cleanText(error),',
    to: 'fetchError: null,',
  },
  {
    promise:
      'An activity that cannot be mirrored stops no other, has its reason in its row, and is asked for again',
    in: 'src/core/mirror/item-failure.ts',
    from: 'const nextFetchAt = new Date(requestedAt.getTime() + backoffMs(FAILURE_BACKOFF, attempts))',
    to: 'const nextFetchAt = null',
  },
  {
    promise: 'Passes of an account at the same time request nothing twice',
    in: 'src/core/store/store.ts',
    from: 'if ((await findPasses(tx)).includes(accountId)) return',
    to: '',
  },
  {
    promise: 'A wrong clock, here or at the service, loses no change',
    in: 'src/core/mirror/poll-activities.ts',
    from: 'if (!listing.knownUpTo || wentBackMs(cursor, listing.knownUpTo) <= lagMs / 2)',
    to: 'if (!listing.knownUpTo || wentBackMs(cursor, listing.knownUpTo) >= 0)',
  },
  {
    promise: 'Silent connections to Redis are replaced within two minutes',
    in: 'src/core/jobs/backend.ts',
    from: 'socketTimeout: silentMs,',
    to: '',
  },
  {
    promise: 'After a failover of Redis the daemon goes on at the new primary, and names a read-only replica',
    in: 'src/core/jobs/backend.ts',
    from: "reconnectOnError: ({ message }: Error) => message.includes('READONLY'),",
    to: '',
  },
  {
    promise: 'A foreign key of the queue is named, with the command that repairs it',
    in: 'src/core/jobs/backend.ts',
    from: "redis.call('keys', ARGV[1])",
    to: "redis.call('keys', 'none')",
  },
  {
    promise: 'Several databases may share a Redis',
    in: 'src/core/jobs/backend.ts',
    from: 'prefix: `{musette-${identity}}:${line}`',
    to: 'prefix: `{musette-${identity.length}}`',
  },
  {
    promise: '… also with a running 1.0.0',
    in: 'src/core/jobs/backend.ts',
    from: "if (String(await redis.client('LIST')).includes(' name=musette:')) return",
    to: '',
  },
  {
    promise: 'An emptied or absent Redis loses nothing',
    in: 'src/program/daemon/handlers.ts',
    from: 'wanted += await enqueueWanted(app, jobs(), account)',
    to: 'wanted += account.accountId',
  },
]
