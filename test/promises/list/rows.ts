import type { Breaking } from '../promises.ts'

/** Breaks what docs/guarantees.md promises under "A row is what the service said". */
export const ROWS: readonly Breaking[] = [
  {
    promise:
      'Readers never see a part of a change: row, samples, curve, zones, raw document and revision are one transaction',
    in: 'src/core/store/store.ts',
    from: "within('BEGIN', fn)",
    to: "within('SELECT 1', fn)",
  },
  {
    promise:
      "Every day on a page of the dashboard is the rider's, whatever zone the daemon and the browser are in",
    in: 'src/features/dashboard/pages/fitness/queries.ts',
    from: 'text: `select extract(epoch from day)::float8, ${',
    to: "text: `select max(extract(epoch from date_trunc('day', at)))::float8, ${",
  },
  {
    promise:
      'An assistant gets an error, and never an empty answer, for an account, table, type, duration, change or cursor that does not exist',
    in: 'src/features/mcp/server.ts',
    from: 'return names.includes(account) ? undefined',
    to: 'return names ? undefined',
  },
  {
    promise: 'An older answer never overwrites a newer one',
    in: 'src/core/store/activities/write-activities.ts',
    from: "coalesce(a.fetched_at > asked.at AND a.fetched_at <= coalesce(asked.recorded_at, 'infinity'), false) AS older,",
    to: 'false AS older,',
  },
  {
    promise: '`summary` is what the service sent, with types and unknown fields',
    in: 'src/core/service/wire/wire-activity.ts',
    from: 'summaryAsSent: rest.summary }',
    to: 'summaryAsSent: parsed.value }',
  },
  {
    promise:
      '`raw_documents` is the last answer with samples, byte by byte (unless `MUSETTE_KEEP_RAW=false`)',
    in: 'src/core/store/activities/raw-documents.ts',
    from: 'const body = gzipped ?? (await promisify(gzip)(document, GZIP))',
    to: 'const body = await promisify(gzip)(document, GZIP)',
  },
  {
    promise: 'A column has the number that was sent, to the last digit of its type',
    in: 'src/core/store/samples/encode-samples.ts',
    from: 'writeMoment(view, at + 4, ms)',
    to: 'writeMoment(view, at + 4, Math.round(ms))',
  },
  {
    promise: '… and each number of the samples is read to the bit, in any notation',
    in: 'src/core/service/scanner/read-number.ts',
    from: 'if (remainder > half) bits++',
    to: 'if (remainder < -half) bits++',
  },
  {
    promise: "Days are the rider's, whatever zone the service sends; the instant is what it sent",
    in: 'src/core/mirror/time-zones.ts',
    from: 'const changes = normalizeZones(facts, { home: account.timezone, everyPlace })',
    to: 'const changes = normalizeZones(facts, { home: account.timezone, everyPlace }).slice(1)',
  },
  {
    promise: '… wherever an activity began',
    in: 'src/core/normalize/local-start.ts',
    from: 'return lookup.find(lat, lng)[0]',
    to: 'return lookup.find(lat, -lng)[0]',
  },
  {
    promise:
      'An answer without the values of an activity is a failure with its reason: the values stay, and it is fetched again',
    in: 'src/core/mirror/mirror-activity.ts',
    from: 'if (poorer) throw poorer',
    to: "if (poorer && path === '') throw poorer",
  },
  {
    promise:
      '… so is one with fewer samples or without a field of them, unless the activity is shorter too, or after two days of such answers',
    in: 'src/core/mirror/poorer-answers.ts',
    from: '...(samples.count < sampleCount && !isExplained',
    to: '...(samples.count < 0 && !isExplained',
  },
  {
    promise: '… and training info without a part, for three days',
    in: 'src/core/mirror/training/poll-training-info.ts',
    from: 'if (error) await assertAccepted(tx,',
    to: "if (error && name === '') await assertAccepted(tx,",
  },
  {
    promise: "… and a workout's definition without sets",
    in: 'src/core/mirror/training/poll-workouts.ts',
    from: 'if (hasSets && sets.length === 0)',
    to: 'if (hasSets && sets.length < 0)',
  },
  {
    promise:
      'Accounts never mix: each view names the account of a row, and each question of the cookbook gives the answer of a mirror of that account alone',
    in: 'src/features/mcp/cookbook/activity-questions.ts',
    from: 'over (partition by t.account), 1) as pct',
    to: 'over (), 1) as pct',
  },
  {
    promise: 'Each question of the cookbook has one answer, also with equal rides and in any order of rows',
    in: 'src/features/mcp/cookbook/more-questions.ts',
    from: 'order by account, started_at desc nulls last, activity_id desc',
    to: 'order by account, started_at desc nulls last',
  },
  {
    promise: '`run_query` runs in the time zone of the rider',
    in: 'src/features/mcp/guarded-reader.ts',
    from: 'having count(distinct timezone) = 1',
    to: 'having count(distinct timezone) = 0',
  },
  {
    promise: '… as do the measures of `ride_measures`',
    in: 'src/core/normalize/measures/measures.ts',
    from: '  const half = first.seconds * 2 < total ? first : second',
    to: '  const half = first.seconds * 2 <= total ? first : second',
  },
  {
    promise: '… from the main run of the recording where the clock of a device jumps',
    in: 'src/core/normalize/activity-answer.ts',
    from: 'if (index - begin >= end - from)',
    to: 'if (index - begin < end - from)',
  },
  {
    promise: '… and a recording of every few seconds counts in full',
    in: 'src/core/normalize/by-second.ts',
    from: 'const spacingS = medianStep(seconds)',
    to: 'const spacingS = Math.min(1, medianStep(seconds))',
  },
  {
    promise:
      'A value that no column can hold is NULL and named in `training.drift`; the activity is mirrored',
    in: 'src/core/mirror/mirror-activity.ts',
    from: "await recordDrift(tx, 'activity/<id>', ...fetched.map(({ drift }) => drift))",
    to: "await recordDrift(tx, 'activity/<id>')",
  },
  {
    promise: '`activity_revisions` has the values before an edit, by column',
    in: 'drizzle/0026_revisions.sql',
    from: 'observed := CASE WHEN OLD.fetched_at IS NOT NULL THEN',
    to: 'observed := CASE WHEN OLD.fetched_at IS NULL THEN',
  },
  {
    promise: 'Derived values equal a computation in SQL from the stored samples',
    in: 'src/core/normalize/intensity.ts',
    from: 'if (ftp !== null && watts > ftp) aboveFtpS += seconds',
    to: 'if (ftp !== null && watts >= ftp) aboveFtpS += seconds',
  },
  {
    promise: '… the power curve equals a search of every window',
    in: 'src/core/normalize/by-second.ts',
    from: 'if (sum > best) best = sum',
    to: 'if (sum > best + 1) best = sum',
  },
  {
    promise: '`musette rebuild` makes all derived values anew from the raw documents',
    in: 'src/core/mirror/rebuild-activities.ts',
    from: 'const recorded = await deps.store.transaction((tx) => writeActivities(tx, details))',
    to: 'const recorded = await deps.store.transaction((tx) => writeActivities(tx, details.slice(1)))',
  },
  {
    promise: '… without a request; a right mirror stays as it is, row for row',
    in: 'src/core/store/activities/write-activities.ts',
    from: 'samplesAt: isStored ? before.document_at : input.requestedAt',
    to: 'samplesAt: isStored ? new Date() : input.requestedAt',
  },
  {
    promise: '… and writes no row that was right',
    in: 'src/core/store/activities/write-activities.ts',
    from: 'const keepsSamples = isStored && (await holdsSamples(tx, input))',
    to: 'const keepsSamples = false',
  },
  {
    promise: '… and writes no row that was right',
    in: 'src/core/store/activities/activity-changes.ts',
    from: "WHERE a.activity_id = row.\"activityId\" AND (${held.join(', ')}) IS DISTINCT FROM (${given.join(', ')})`",
    to: 'WHERE a.activity_id = row."activityId" AND ${held.length} >= 0`',
  },
  {
    promise: '… and continues after a kill',
    in: 'src/program/app/rebuild-account.ts',
    from: 'through = Math.max(through, doneThrough)',
    to: 'through = Math.max(through, doneThrough + 1_000)',
  },
  {
    promise: 'Start and bounding box of an activity equal a computation in SQL from its samples',
    in: 'src/core/normalize/activity-answer.ts',
    from: 'if (first < 0) first = index',
    to: 'first = index',
  },
  {
    promise: 'Training info has a row for each visible change, with the whole answer',
    in: 'src/core/normalize/same-training-info.ts',
    from: 'isSameTrainingInfo(before: unknown, now: unknown): boolean {',
    to: 'isSameTrainingInfo(before: unknown, now: unknown): boolean { if (before) return true',
  },
  {
    promise: 'Training info has a row for each visible change, with the whole answer',
    in: 'src/core/store/training/training-info-rows.ts',
    from: 'const raw = cleanJson(input.raw)',
    to: 'const raw = cleanJson({ ...(input.raw as object), signature: null })',
  },
  {
    promise: 'Workouts and their definitions are kept whole, with unknown fields',
    in: 'src/core/store/training/workout-sets.ts',
    from: 'description: cleanNullable(description), raw: cleanJson(raw) }',
    to: 'description: cleanNullable(description), raw: {} }',
  },
]
