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
  ['a passing error is tried again', new TransientError('x', 'x'), { kind: 'retry' }],
  ['a raw error of Postgres while it starts', withCode('57P03'), { kind: 'retry' }],
  ['a network that is away', withCode('EHOSTUNREACH'), { kind: 'retry' }],
  ['a deadlock', withCode('40P01'), { kind: 'retry' }],
  ['a refused write is tried again', new TransientError('database_read_only', 'x'), { kind: 'retry' }],
  ['a job waits for a primary', new TransientError('database_standby', 'x'), waits(5_000)],
  ['a job waits for a server that fits', new TransientError('database_unfit', 'x'), waits(5_000)],
  ['a job waits as long as the service says', limited(1_500.2), waits(1_501)],
  ['a job waits a second at least', limited(-5), waits(1_000)],
  ['a job waits a second without a number', limited(Number.NaN), waits(1_000)],
  ['a job waits six hours at most', limited(Number.POSITIVE_INFINITY), waits(21_600_000)],
  ['rejected credentials park the account', new CredentialsRejectedError('x', 'x'), { kind: 'park' }],
  ['a refusal is final', new RejectedError('x', 'x'), { kind: 'refuse' }],
  ['an unreadable answer is final', new UnexpectedResponseError('x', 'x'), { kind: 'refuse' }],
  ['wrong configuration is final', new ConfigError('x', 'x'), { kind: 'refuse' }],
  ['any other error of ours is a defect', new MusetteError('x', 'x'), { kind: 'bug' }],
  ['a broken statement is a defect', withCode('42601'), { kind: 'bug' }],
  ['something thrown that is no error', 'rate limit timeout 429', { kind: 'bug' }],
])('%s', (_title, error, outcome) => {
  expect(outcomeOf(error)).toEqual(outcome)
})

it.each([
  ['retry', 4, false],
  ['retry', 5, true],
  ['bug', 1, false],
  ['bug', 2, true],
  ['park', 0, true],
] as const)('after %s with %i of six attempts made is dead: %s', (kind, made, dead) => {
  expect(isDead({ kind }, { made, allowed: 6 })).toBe(dead)
})
