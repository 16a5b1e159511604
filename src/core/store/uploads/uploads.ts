import { and, eq, inArray, isNull, lte, or, type SQL, sql } from 'drizzle-orm'
import { ofAccount } from '../account-rows.ts'
import { cleanNullable, cleanText } from '../clean.ts'
import { uploadCopies, uploads } from '../schema/index.ts'
import { acquireNamedLock, type Tx } from '../store.ts'

export type Upload = Readonly<typeof uploads.$inferSelect>
export type UploadState = Upload['state']
export type UploadKey = { accountId: number; contentId: string }

/** A change of an upload's state; columns that are left out keep their values. */
export type UploadChange = Pick<Upload, 'state'> &
  Partial<Omit<Upload, 'state' | keyof UploadKey>> & {
    /** counts one more attempt to send */
    countAttempt?: boolean
  }

/** Conditions for a change of state; a condition that is left out always holds. */
type UploadRules = {
  /** the row has one of these states */
  from?: readonly UploadState[]
  /** the row's pause has ended by this time */
  dueAt?: Date
  /** the row has this many attempts: no other process has sent the file since */
  attempts?: number
}

/** Records a file's content in the ledger, unless the ledger already has it. Returns the row and whether the row is new. */
export async function recordUploadSeen(
  tx: Tx,
  input: UploadKey & {
    fileName: string
    sizeBytes: number
    startedAt: Date | null
    otherStarts?: readonly Date[]
    seenAt: Date
  },
): Promise<{ upload: Upload; isNew: boolean }> {
  const [made] = await tx.db
    .insert(uploads)
    .values({
      ...input,
      fileName: cleanText(input.fileName),
      otherStarts: input.otherStarts?.map((start) => start.toISOString()) ?? null,
    })
    .onConflictDoNothing()
    .returning()
  if (made) return { upload: made, isNew: true }
  const upload = await findUpload(tx, input)
  if (!upload) throw new Error('a conflicting row can be read')
  return { upload, isNew: false }
}

/** Finds the ledger row of a content id. Returns undefined if musette never saw that content. */
export async function findUpload(tx: Tx, key: UploadKey): Promise<Upload | undefined> {
  const [row] = await tx.db.select().from(uploads).where(isUpload(key))
  return row
}

/** Finds the ledger row of a longer file if musette sent only the content `contentId` of that file. Returns undefined if there is none. */
export async function findUploadSentAs(tx: Tx, key: UploadKey): Promise<Upload | undefined> {
  const isSentAs = and(eq(uploads.accountId, key.accountId), eq(uploads.sentContentId, key.contentId))
  const [row] = await tx.db.select().from(uploads).where(isSentAs)
  return row
}

/** Sets the state of a ledger row and returns the row. With rules, returns undefined if the rules no longer hold, because another process was first. */
export async function recordUploadState(
  tx: Tx,
  key: UploadKey,
  change: UploadChange,
  { from, dueAt, attempts }: UploadRules = {},
): Promise<Upload | undefined> {
  const { countAttempt, reason, activityPath, ...rest } = change
  const rules: (SQL | undefined)[] = [isUpload(key)]
  if (from) rules.push(inArray(uploads.state, [...from]))
  if (dueAt) rules.push(or(isNull(uploads.nextTryAt), lte(uploads.nextTryAt, dueAt)))
  if (attempts !== undefined) rules.push(eq(uploads.attempts, attempts))
  const [row] = await tx.db
    .update(uploads)
    .set({
      ...rest,
      ...(reason === undefined ? {} : { reason: cleanNullable(reason) }),
      ...(activityPath === undefined ? {} : { activityPath: cleanNullable(activityPath) }),
      ...(countAttempt ? { attempts: sql`${uploads.attempts} + 1` } : {}),
    })
    .where(and(...rules))
    .returning()
  return row
}

/** Extends the time at which the sender of a row counts as dead; has no effect if another process has sent the file since. */
export async function recordUploadAlive(tx: Tx, key: UploadKey, input: { attempts: number; until: Date }) {
  await tx.db
    .update(uploads)
    .set({ nextTryAt: input.until })
    .where(and(isUpload(key), eq(uploads.state, 'sending'), eq(uploads.attempts, input.attempts)))
}

function isUpload(key: UploadKey): SQL | undefined {
  return and(eq(uploads.accountId, key.accountId), eq(uploads.contentId, key.contentId))
}

/** Records further file names of known content in the ledger, or when a known name was last seen. */
export async function recordUploadCopies(
  tx: Tx,
  copies: ReadonlyArray<UploadKey & { fileName: string; seenAt: Date }>,
): Promise<void> {
  const { accountId, contentId, fileName } = uploadCopies
  // An archive may hold the same file name and content in two folders; a statement accepts each key once.
  const keyed = new Map(copies.map((copy) => [`${copy.contentId} ${cleanText(copy.fileName)}`, copy]))
  await tx.db
    .insert(uploadCopies)
    .values([...keyed.values()].map((copy) => ({ ...copy, fileName: cleanText(copy.fileName) })))
    .onConflictDoUpdate({ target: [accountId, contentId, fileName], set: { seenAt: sql`excluded.seen_at` } })
}

/** Makes the activity of an accepted upload wanted and no longer absent, even before a list contains it. Returns its `activity_id`. */
export async function upsertUploaded(tx: Tx, input: { accountId: number; path: string; listedAt: Date }) {
  const { rows } = await tx.client.query<{ activity_id: number }>(
    `insert into training.activities as a (account_id, path, detail_state, listed_at, wanted_at)
     values ($1, $2, 'wanted', $3, $3)
     on conflict (account_id, path) do update
       set detail_state = 'wanted', wanted_at = greatest(a.wanted_at, excluded.wanted_at), next_fetch_at = null,
         absent_since = null
     returning activity_id`,
    [input.accountId, input.path, input.listedAt],
  )
  const [row] = rows
  if (!row) throw new Error('an upsert returns its row')
  return row.activity_id
}

/** An activity near a file's start. `isAwaited`: its samples are still to be fetched; `fileName`: its first other file. */
export type ActivityAtStart = Readonly<{
  activityId: number
  path: string
  startedAt: Date
  lengthsS: number[]
  isAwaited: boolean
  fileName: string | null
}>

/** Finds activities, except absent ones, that start at most `withinMs` from one of a file's starts, with their possible lengths. */
export async function findActivitiesAt(
  tx: Tx,
  { accountId, contentId, starts, withinMs }: UploadKey & { starts: readonly Date[]; withinMs: number },
): Promise<ActivityAtStart[]> {
  const { rows } = await tx.client.query<ActivityAtStart>(
    `select distinct on (a.activity_id) a.activity_id as "activityId", path, started_at as "startedAt",
       array_remove(array[elapsed_s, duration], null) as "lengthsS", 
       detail_state in ('wanted', 'awaiting_samples') and coalesce(sample_count, 0) = 0 as "isAwaited",
       (select file_name from training.uploads u where u.activity_id = a.activity_id and content_id <> $2 order by seen_at limit 1) as "fileName"
     from unnest($3::timestamptz[]) s (at) join training.activities a on a.account_id = $1 and a.absent_since is null
       and a.started_at between s.at - $4 * interval '1 ms' and s.at + $4 * interval '1 ms' order by a.activity_id`,
    [accountId, contentId, starts, withinMs],
  )
  return rows
}

/** An activity that a file may have created. `complete`: mirrored with samples, and listed. */
type KnownPath = { path: string; activityId: number; firstSeenAt: Date; complete: boolean }

/** The facts that decide whether an activity came from a file. */
export type Claims = {
  /** paths that belong to other contents, with the name of their file */
  claimed: ReadonlyMap<string, string>
  /** the activities among the given paths that the mirror has */
  known: ReadonlyMap<string, KnownPath>
  /** starts of other contents without a known activity */
  rivals: readonly Date[]
}

/** Finds the contents that the activities `paths` belong to, and locks the account's claims until the transaction ends. */
export async function findClaims(tx: Tx, key: UploadKey, paths: readonly string[]): Promise<Claims> {
  await acquireNamedLock(tx, 'uploads', key.accountId)
  const claimed = await tx.client.query<{ path: string; fileName: string }>(
    `select activity_path as path, file_name as "fileName" from training.uploads
     where account_id = $1 and content_id <> $2 and activity_path = any($3::text[])`,
    [key.accountId, key.contentId, paths],
  )
  const known = await tx.client.query<KnownPath>(
    `select path, activity_id as "activityId", first_seen_at as "firstSeenAt",
       detail_state = 'mirrored' and coalesce(sample_count, 0) > 0 and absent_since is null as complete
     from training.activities where account_id = $1 and path = any($2::text[])`,
    [key.accountId, paths],
  )
  const rivals = await tx.client.query<{ startedAt: Date }>(
    `select started_at as "startedAt" from training.uploads
     where account_id = $1 and content_id <> $2 and started_at is not null and activity_path is null
       and state in ('sending', 'unconfirmed', 'accepted')`,
    [key.accountId, key.contentId],
  )
  return {
    claimed: new Map(claimed.rows.map(({ path, fileName }) => [path, fileName])),
    known: new Map(known.rows.map((row) => [row.path, row])),
    rivals: rivals.rows.map(({ startedAt }) => startedAt),
  }
}

/** Marks the accepted uploads of these activities as mirrored. */
export async function recordUploadsMirrored(
  tx: Tx,
  input: { activityIds: readonly number[]; mirroredAt: Date },
): Promise<void> {
  if (input.activityIds.length === 0) return
  await tx.client.query(
    `update training.uploads set state = 'mirrored', mirrored_at = $2, next_try_at = null, checks = 0
     where activity_id = any ($1) and state = 'accepted'`,
    [input.activityIds, input.mirroredAt],
  )
}

/**
 * Finds the ledger rows of all signed-in accounts whose state must be checked at the service at `now`, longest due first. These are rows
 * whose sender died, whose answer was lost, whose file is accepted but its activity cannot be fetched, or whose mirrored activity vanished
 * (checked once).
 */
export async function findDueUploads(tx: Tx, input: { now: Date; limit: number }): Promise<UploadKey[]> {
  const { rows } = await tx.client.query<UploadKey>(
    `select u.account_id as "accountId", u.content_id as "contentId"
     from training.uploads u
       join training.accounts c on c.account_id = u.account_id and not c.needs_login
       left join training.activities a on a.activity_id = u.activity_id
     where ((u.next_try_at <= $1 and (u.state in ('sending', 'unconfirmed')
         or (u.state = 'accepted'
             and (a.activity_id is null or a.absent_since is not null or a.detail_state = 'failed'))))
       or (u.state = 'mirrored' and u.checks = 0 and a.absent_since is not null))
     order by u.next_try_at nulls last limit $2`,
    [input.now, input.limit],
  )
  return rows
}

/**
 * Marks accepted uploads as mirrored if their activity is complete, even if a poll fetched it before the ledger knew it, or the service has
 * no samples of it. Returns how many.
 */
export async function recordUploadsComplete(tx: Tx, input: { now: Date }): Promise<number> {
  const { rowCount } = await tx.client.query(
    `update training.uploads u set state = 'mirrored', mirrored_at = $1, next_try_at = null, checks = 0
     from training.activities a
     where a.activity_id = u.activity_id and u.state = 'accepted'
       and a.detail_state = 'mirrored' and a.absent_since is null`,
    [input.now],
  )
  return rowCount ?? 0
}

/** How long a file may stay unsent before it is a problem: sending takes minutes. */
const STUCK_AFTER = '6 hours'

/** Finds the last refused file of a week, and counts the files that have not been sent or confirmed for hours. */
export async function findUploadProblems(tx: Tx, now: Date, accountId?: number) {
  type Refused = { account: string; file_name: string; reason: string | null; seen_at: Date; refused: number }
  const refused = await tx.client.query<Refused>(
    `select a.name as account, u.file_name, u.reason, u.seen_at, count(*) over ()::int as refused
     from training.uploads u join training.accounts a using (account_id)
     where u.state = 'refused' and u.seen_at > $1::timestamptz - interval '7 days' and ${ofAccount(accountId)}
     order by u.seen_at desc limit 1`,
    [now],
  )
  const stuck = await tx.client.query(
    `select from training.uploads where state in ('seen', 'sending', 'unconfirmed')
       and seen_at < $1::timestamptz - interval '${STUCK_AFTER}' and ${ofAccount(accountId)}`,
    [now],
  )
  return { last: refused.rows[0], stuck: stuck.rowCount ?? 0 }
}
