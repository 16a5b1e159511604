import type { activities } from '../schema/index.ts'

type Row = typeof activities.$inferSelect

/** Columns that the activity list fills; a detail may name them, too. */
type ListColumn = 'name' | 'description' | 'activityType' | 'startedAt' | 'timezone' | 'startedAtLocal'

/** Columns that say who the row is and how fetching it goes; the store writes them itself. */
type OwnColumn =
  | 'activityId'
  | 'accountId'
  | 'path'
  | 'detailState'
  | 'sampleCount'
  | 'elapsedS'
  | 'summary'
  | 'absentSince'
  | 'firstSeenAt'
  | 'listedAt'
  | 'fetchedAt'
  | 'wantedAt'
  | 'summaryHash'
  | 'listFields'
  | 'detailFields'
  | 'nextFetchAt'
  | 'fetchAttempts'
  | 'fetchError'

/**
 * What an activity's detail says, one member a column of `training.activities`; null where the service sent nothing.
 * `elapsedS` is seconds from the first sample to the last, and is written only together with samples. The list's
 * columns stay as they are when left out.
 */
export type ActivityDetailRow = Readonly<
  Omit<Row, ListColumn | OwnColumn> & Partial<Pick<Row, ListColumn>> & { elapsedS?: number | null }
>
