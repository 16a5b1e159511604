import { expect, it } from 'vitest'
import { isDead, outcomeOf } from '../../../src/core/jobs/outcome.ts'
import {
  ConfigError,
  CredentialsRejectedError,
  MusetteError,
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../../../src/kit/errors.ts'

const waits = (waitMs: number) => ({ kind: 'wait', waitMs })
const withCode = (code: string) => Object.assign(new Error('x'), { code })
const limited = (ms: number) => new RateLimitedError('x', 'x', ms)

it.each([
  ['a transient error is retried', new TransientError('x', 'x'), { kind: 'retry' }],
  ['an error of a starting Postgres is retried', withCode('57P03'), { kind: 'retry' }],
  ['an unreachable network is retried', withCode('EHOSTUNREACH'), { kind: 'retry' }],
  ['a deadlock is retried', withCode('40P01'), { kind: 'retry' }],
  [
    'a write to a read-only database is retried',
    new TransientError('database_read_only', 'x'),
    { kind: 'retry' },
  ],
  ['a job waits for a primary', new TransientError('database_standby', 'x'), waits(5_000)],
  ['a job waits for a server that fits', new TransientError('database_unfit', 'x'), waits(5_000)],
  ['a job waits as long as the service says', limited(1_500.2), waits(1_501)],
  ['a job waits at least a second', limited(-5), waits(1_000)],
  ['a job waits a second if the time is not a number', limited(Number.NaN), waits(1_000)],
  ['a job waits at most six hours', limited(Number.POSITIVE_INFINITY), waits(21_600_000)],
  ['rejected credentials park the account', new CredentialsRejectedError('x', 'x'), { kind: 'park' }],
  ['a refusal is final', new RejectedError('x', 'x'), { kind: 'refuse' }],
  ['an unreadable response is final', new UnexpectedResponseError('x', 'x'), { kind: 'refuse' }],
  ['wrong configuration is final', new ConfigError('x', 'x'), { kind: 'refuse' }],
  ['any other MusetteError is a bug', new MusetteError('x', 'x'), { kind: 'bug' }],
  ['a wrong SQL statement is a bug', withCode('42601'), { kind: 'bug' }],
  ['a thrown text is a bug', 'rate limit timeout 429', { kind: 'bug' }],
])('%s', (_title, error, outcome) => {
  expect(outcomeOf(error)).toEqual(outcome)
})

it.each([
  ['retry', 4, false],
  ['retry', 5, true],
  ['bug', 1, false],
  ['bug', 2, true],
  ['park', 0, true],
] as const)('a job with outcome %s after %i of six attempts is dead: %s', (kind, made, dead) => {
  expect(isDead({ kind }, { made, allowed: 6 })).toBe(dead)
})
