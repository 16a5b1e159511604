import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import type pg from 'pg'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import { makeBackendChoice } from '../../../src/core/jobs/backend.ts'
import type { Handlers } from '../../../src/core/jobs/catalog.ts'
import { type Jobs, type JobsOptions, openJobs } from '../../../src/core/jobs/jobs.ts'
import { withConnection } from '../../kit/connect.ts'
import { openTestDatabase } from '../../kit/postgres.ts'
import { describeWithRedis, openTestRedis } from '../../kit/redis.ts'
import { type Fetch, handlersOf, type Poll, QUICK } from './handlers.ts'

export type BackendName = 'redis' | 'postgres'

export type LogLine = { level: number; msg: string } & Record<string, unknown>

export type RigInput = Omit<Partial<JobsOptions>, 'roles'> & {
  roles?: { scheduler: boolean; worker: boolean }
  fetch?: Fetch
  poll?: Poll
  handlers?: Handlers
  accounts?: () => Promise<number[]>
  signal?: AbortSignal
}

export type Rig = Awaited<ReturnType<typeof openRig>>

/** Runs the same tests on both backends. The rig is opened before the first test and reset after each. */
export function describeJobs(title: string, tests: (rig: () => Rig) => void): void {
  const body = (name: BackendName) => () => {
    let rig: Rig | undefined
    beforeAll(async () => {
      rig = await openRig(name)
    })
    afterEach(() => rig?.reset())
    afterAll(() => rig?.close())
    tests(() => {
      if (!rig) throw new Error('the rig is not open')
      return rig
    })
  }
  describeWithRedis(`${title} on redis`, body('redis'))
  describe(`${title} on postgres`, body('postgres'))
}

/** Opens the queue in a real Redis or Postgres. */
async function openRig(name: BackendName) {
  const place = name === 'redis' ? await openTestRedis() : await openTestDatabase({ migrated: false })
  const [identity, line] = [randomUUID(), randomUUID()]
  const choice = makeBackendChoice(name === 'redis' ? place.url : undefined, place.url, { identity, line })
  const lines: LogLine[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const opened: Jobs[] = []
  const emptyQueue = () =>
    name === 'redis' ? flushRedis(place.url) : withConnection(place.url, truncateQueue)
  const closeAll = async () => {
    for (const jobs of opened.splice(0)) await jobs.close()
  }
  return {
    choice,
    lines,
    /** Empties the queue, as a flush of Redis does. */
    emptyQueue,
    /** Removes the jobs of the `polls` queue, but not its schedules. */
    losePolls: () =>
      name === 'redis'
        ? deleteRedisPolls(place.url, `{musette-${identity}}:${line}`)
        : withConnection(place.url, deletePolls),
    /** Opens jobs with short times. Handlers that are not given do nothing. `reset` closes all of them. */
    async open({ fetch, poll, handlers, accounts, signal, ...options }: RigInput = {}): Promise<Jobs> {
      const jobs = await openJobs(
        {
          log,
          handlers: handlers ?? handlersOf(fetch, poll),
          signal: signal ?? new AbortController().signal,
          accounts: accounts ?? (async () => []),
        },
        { ...QUICK, backend: choice, ...options },
      )
      opened.push(jobs)
      jobs.work()
      if (options.roles?.scheduler) await jobs.keepSchedules()
      return jobs
    },
    async reset() {
      await closeAll()
      await emptyQueue()
      lines.length = 0
    },
    async close() {
      await closeAll()
      await place.close()
    },
  }
}

/** Returns the payload of a fetch for account 1. */
export const ride = (activityId: number) => ({ accountId: 1, activityId })

async function flushRedis(url: string): Promise<void> {
  const redis = new Redis(url)
  await redis.flushdb()
  redis.disconnect()
}

async function truncateQueue(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'bullmq' and tablename <> 'migration'`,
  )
  if (rows.length > 0)
    await client.query(`truncate ${rows.map(({ name }) => `bullmq.${name}`).join(', ')} cascade`)
}

async function deleteRedisPolls(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url)
  const jobs = await redis.keys(`${prefix}:polls:repeat:*:*`)
  await redis.del(`${prefix}:polls:delayed`, `${prefix}:polls:wait`, ...jobs)
  redis.disconnect()
}

const deletePolls = (client: pg.Client) => client.query(`delete from bullmq.job where queue = 'polls'`)
