import { once } from 'node:events'
import pg from 'pg'
import type { Logger } from 'pino'
import { mapDatabaseError } from '../../core/store/database-errors.ts'
import { ConfigError, errorLine, isAbort, TransientError } from '../../kit/errors.ts'
import { withClient } from '../../kit/postgres-client.ts'
import { makeSemaphore } from '../../kit/semaphore.ts'
import { type JoinedSignal, joinSignals, SECOND, sleep } from '../../kit/time.ts'
import type { ReadingPlace } from '../../program/query/reader-url.ts'
import { makeReadingSessions, type ReadingSession } from '../../program/query/reading-session.ts'
import { type Field, ResultTooLarge, type Row } from '../../program/query/statement.ts'

type GuardedStatement = {
  text: string
  values?: readonly unknown[]
  /** maximum number of rows returned; undefined: the reader's limit */
  maxRows?: number
  /** the search path; undefined: training */
  searchPath?: string
  /** uses the rider's time zone for `current_date` and timestamptz, or UTC if the riders are in several time zones */
  inRidersZone?: boolean
}

/** `cut` names the limit that was reached, if any. A statement that returns no rows, such as SET, has no fields. */
export type GuardedAnswer = { fields: readonly Field[]; rows: Row[]; cut: 'rows' | 'bytes' | undefined }

export type GuardedReader = {
  /**
   * Runs one untrusted statement and returns its result up to the limits. Throws ConfigError `sql_rejected` with Postgres's message,
   * TransientError `query_timed_out` or `queries_busy`, the errors of the store and of makeReadingSessions, and the signal's reason
   * after an abort.
   */
  read(statement: GuardedStatement, signal?: AbortSignal): Promise<GuardedAnswer>
}

/**
 * The limits of a statement, and the number of statements that run at a time: the embedded server has 60 connections, and the machine may
 * be small.
 */
const LIMITS = { timeoutMs: 20 * SECOND, maxRows: 2_000, maxBytes: 1_000_000, concurrency: 4 }
/**
 * How long a cancelled statement may take to stop before its server process is terminated, ms. Needed because a code block can ignore a
 * cancel request.
 */
const STOP_WITHIN_MS = SECOND
/** Maximum number of waiting statements; further statements are refused. */
const MAX_WAITING = 32

/**
 * Makes a reader for the statements of assistants. Each statement runs in its own session (see makeReadingSessions), which is then rolled
 * back and closed, so that no lock, setting or prepared statement remains. Connects at the first statement; calls `find` until it succeeds
 * once.
 */
export function makeGuardedReader(
  deps: { log: Logger; find: () => Promise<ReadingPlace> },
  limits: Partial<typeof LIMITS> = {},
): GuardedReader {
  const all = { ...LIMITS, ...limits }
  const semaphore = makeSemaphore(all.concurrency)
  let pending = 0
  const sessions = makeReadingSessions({ ...deps, readers: 'assistants' })

  return {
    async read(statement, signal) {
      if (pending >= all.concurrency + MAX_WAITING) {
        const message = 'too many statements are waiting; try again later'
        throw new TransientError('queries_busy', message)
      }
      pending += 1
      try {
        return await semaphore(1, () => readIn(sessions, { ...statement, limits: all, signal }))
      } finally {
        pending -= 1
      }
    },
  }
}

const CANCELLED = '57014'
const SET_ZONE = `select set_config('TimeZone', min(timezone), true) from training.today having count(distinct timezone) = 1`

type Input = GuardedStatement & { limits: typeof LIMITS; signal: AbortSignal | undefined }

async function readIn(
  sessions: ReturnType<typeof makeReadingSessions>,
  input: Input,
): Promise<GuardedAnswer> {
  const { limits } = input
  const session = await sessions.open({
    applicationName: 'musette mcp',
    statementTimeoutMs: limits.timeoutMs,
    signal: input.signal,
  })
  const deadline = joinSignals([input.signal], limits.timeoutMs + STOP_WITHIN_MS)
  const { signal } = deadline
  const done = new AbortController()
  const ending = endWhenIgnored(signal, done.signal).then(async (ignored) => {
    if (!ignored) return
    await terminate(session)
    session.destroy()
  })
  try {
    return await runGuarded(session, { ...input, signal })
  } catch (error) {
    throw rejected(error, { input, deadline })
  } finally {
    deadline.clear()
    done.abort()
    await ending
    await session.close()
  }
}

/** Resolves to true if a cancelled statement has not ended in time, and to false once the statement is done. */
async function endWhenIgnored(stopped: AbortSignal, done: AbortSignal): Promise<boolean> {
  const isDone = () => false
  if (!stopped.aborted) await once(stopped, 'abort', { signal: done }).catch(isDone)
  return sleep(STOP_WITHIN_MS, done).then(() => true, isDone)
}

async function runGuarded(
  session: ReadingSession,
  { text, values, searchPath, inRidersZone, maxRows, limits, signal }: Input,
): Promise<GuardedAnswer> {
  if (searchPath !== undefined) {
    const setPath = "select set_config('search_path', $1, true)"
    for await (const _ of session.run(setPath, { values: [searchPath], signal }));
  }
  if (inRidersZone) for await (const _ of session.run(SET_ZONE, { signal }));
  const parts = session.run(text, { values, maxBytes: limits.maxBytes, signal })
  return collect(parts, { maxRows: maxRows ?? limits.maxRows, noPlans: session.isOfOneAccount })
}

async function collect(
  parts: ReturnType<ReadingSession['run']>,
  { maxRows, noPlans }: { maxRows: number; noPlans: boolean },
): Promise<GuardedAnswer> {
  const answer: GuardedAnswer = { fields: [], rows: [], cut: undefined }
  try {
    for await (const part of parts) {
      if (part.kind === 'copied')
        throw new ConfigError('sql_rejected', 'SQL: COPY is not allowed here; use SELECT')
      // A query plan reveals row counts of the other accounts.
      if (noPlans && part.kind === 'fields' && part.fields[0]?.name === 'QUERY PLAN')
        throw new ConfigError(
          'sql_rejected',
          'SQL: EXPLAIN is not allowed if only one account may be read; use SELECT',
        )
      if (part.kind === 'fields') answer.fields = part.fields
      if (part.kind === 'rows') for (const row of part.rows) answer.rows.push(row)
      if (answer.rows.length <= maxRows) continue
      answer.rows.length = maxRows
      answer.cut = 'rows'
      break
    }
  } catch (error) {
    if (!(error instanceof ResultTooLarge)) throw error
    answer.cut = 'bytes'
  }
  return answer
}

/** Terminates a session's server process: as the owner or, if that fails, as the session's login, which may terminate its own processes. */
async function terminate({ endedBy, serverPid }: ReadingSession): Promise<void> {
  for (const connectionString of endedBy) {
    const config = { connectionString, connectionTimeoutMillis: 5 * SECOND }
    try {
      await withClient(config, (client) => client.query('select pg_terminate_backend($1)', [serverPid]))
      return
    } catch {
      // Tries the next login. If no login may terminate the process, the statement timeout still ends the statement, unless a code block
      // ignores the timeout.
    }
  }
}

function rejected(error: unknown, { input, deadline }: { input: Input; deadline: JoinedSignal }): unknown {
  if (input.signal?.aborted) return input.signal.reason
  const isPostgres = error instanceof pg.DatabaseError
  if (deadline.isOver() || (isPostgres && error.code === CANCELLED)) {
    const message = `the statement took longer than ${input.limits.timeoutMs / SECOND} s and was cancelled; read fewer days, one activity, or a view such as daily_load instead of samples`
    return new TransientError('query_timed_out', message)
  }
  if (error instanceof ConfigError || isAbort(error, input.signal)) return error
  if (!isPostgres || /^(57P|08(?!P01))/.test(error.code ?? '')) return mapDatabaseError(error, 'query', true)
  const hint = error.hint ? ` (${error.hint})` : ''
  const place = error.position ? ` at character ${error.position}` : ''
  return new ConfigError('sql_rejected', `SQL: ${errorLine(error)}${place}${hint}`, { cause: error })
}
