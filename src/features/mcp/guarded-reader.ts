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
  /** more rows are left out; undefined: the limit of the reader */
  maxRows?: number
  /** the schemas of names without one, instead of training */
  searchPath?: string
  /** `current_date` and instants use the rider's zone; for riders in several zones UTC */
  inRidersZone?: boolean
}

/** `cut` names the limit that left rows out. A statement without rows has no fields. */
export type GuardedAnswer = { fields: readonly Field[]; rows: Row[]; cut: 'rows' | 'bytes' | undefined }

export type GuardedReader = {
  /**
   * Runs one statement that anybody may have written, and returns the beginning of its result. Throws ConfigError
   * `sql_rejected` with Postgres's message, TransientError `query_timed_out`, the store's errors, those of
   * makeReadingSessions, and the signal's reason after an abort.
   */
  read(statement: GuardedStatement, signal?: AbortSignal): Promise<GuardedAnswer>
}

/** Of 60 connections of the embedded server, and of the memory and processors of a small machine. */
const LIMITS = { timeoutMs: 20 * SECOND, maxRows: 2_000, maxBytes: 1_000_000, concurrency: 4 }
/** After this the connection of a statement that was stopped is ended at the server: a block of code can ignore that it is cancelled. */
const STOP_WITHIN_MS = SECOND
/** Statements that wait for one of the places; more are refused. */
const MAX_WAITING = 32

/**
 * Makes a reader for statements of assistants. Each statement has a session of its own (see makeReadingSessions); afterwards its
 * transaction is rolled back and its connection closed, so that no lock, setting or prepared statement remains. Nothing is
 * opened before the first statement. `find` is called for the place of the database until it was found once.
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
        const message = 'too many statements wait already; ask again when they have ended'
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

/** Resolves to true when a statement that was stopped has not ended in time, and to false when it is done. */
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
        throw new ConfigError('sql_rejected', 'SQL: COPY is not possible here; use SELECT')
      // The numbers of a plan come from the rows of all accounts.
      if (noPlans && part.kind === 'fields' && part.fields[0]?.name === 'QUERY PLAN')
        throw new ConfigError('sql_rejected', 'SQL: EXPLAIN is not possible for one account; use SELECT')
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

/** Ends the server's process of a session: by the owner, or else by the same login, which may end its own processes. */
async function terminate({ endedBy, serverPid }: ReadingSession): Promise<void> {
  for (const connectionString of endedBy) {
    const config = { connectionString, connectionTimeoutMillis: 5 * SECOND }
    try {
      await withClient(config, (client) => client.query('select pg_terminate_backend($1)', [serverPid]))
      return
    } catch {
      // The next one is tried. The time limit also holds, unless a block of code ignores it.
    }
  }
}

function rejected(error: unknown, { input, deadline }: { input: Input; deadline: JoinedSignal }): unknown {
  if (input.signal?.aborted) return input.signal.reason
  const isPostgres = error instanceof pg.DatabaseError
  if (deadline.isOver() || (isPostgres && error.code === CANCELLED)) {
    const message = `the statement took longer than ${input.limits.timeoutMs / SECOND} s and was stopped; read less: a shorter span of days, one activity, or a view such as daily_load in place of samples`
    return new TransientError('query_timed_out', message)
  }
  if (error instanceof ConfigError || isAbort(error, input.signal)) return error
  if (!isPostgres || /^(57P|08(?!P01))/.test(error.code ?? '')) return mapDatabaseError(error, 'query', true)
  const hint = error.hint ? ` (${error.hint})` : ''
  const place = error.position ? ` at character ${error.position}` : ''
  return new ConfigError('sql_rejected', `SQL: ${errorLine(error)}${place}${hint}`, { cause: error })
}
