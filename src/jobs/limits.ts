import { HOUR, MINUTE, SECOND } from '../kit/time.ts'

/** A worker's claim on a job, ms, renewed at half time: how long a killed worker's job stays unnoticed at most. */
export const LOCK_MS = 30 * SECOND
/** How often abandoned jobs are looked for, ms: with the lock above a killed worker's job is back within 40 s. */
export const STALLED_EVERY_MS = 5 * SECOND
/** Crashes one job may take part in. One is bad luck, a deploy loop makes a few; eleven is the job's own doing. */
export const MAX_CRASHES = 10
/**
 * Starts of one job, whatever for. Only the last barrier: waiting out a rate limit counts as a start too, so a
 * small number would kill healthy jobs on a bad day. Crashes have their own, tighter count.
 */
export const MAX_STARTS = 10_000
/** Pause before a worker asks again after an error of its own connection, ms: no spinning, and back soon. */
export const RUN_RETRY_MS = 1 * SECOND
/** Jobs of the short queue at once: a long list of one account must not hold up another's token. */
export const POLLS_CONCURRENCY = 4
/** Tries of a job that fails for reasons we do not know: it is our bug, and repeating it only fills the log. */
export const BUG_ATTEMPTS = 3
/** Shortest and longest stay-away we believe, ms: no hot loop on `Retry-After: 0`, no silent year on a slip. */
export const WAIT_MIN_MS = 1 * SECOND
export const WAIT_MAX_MS = 6 * HOUR
/** Pause before a job that says it is not finished runs again, ms: others get their turn. */
export const REQUEUE_MS = 1 * SECOND
/**
 * Jobs in one bulk insert. On Postgres each deduplication key takes an advisory lock until commit, and the lock
 * table of a small server holds about a thousand.
 */
export const ENQUEUE_BATCH = 250
/** How often schedules are compared with the truth, ms, and how soon while the queue is failing. */
export const HEARTBEAT_MS = 1 * MINUTE
export const HEARTBEAT_FAILING_MS = 2 * SECOND
/** How long a stopping daemon waits for running jobs, ms: a container is killed after 30 s by most orchestrators. */
export const CLOSE_GRACE_MS = 15 * SECOND
/** How long a queue or worker may take to close, ms, and then to be cut: there are four, and a container has a minute. */
export const GOODBYE_MS = 3 * SECOND
/** How long a connection to Postgres is kept for the next job, ms: signing in again costs more than most jobs. */
export const CONNECTION_IDLE_MS = 1 * MINUTE
/** How long any single connection may take to open or close, ms. */
export const CONNECTION_MS = 10 * SECOND
/** Characters of a stack kept with a dead job. */
export const STACK_LIMIT = 4_000
