import { UnrecoverableError } from 'bullmq'
import { describe, expect, it } from 'vitest'
import { isDead, makeFailure, outcomeOf } from '../../../src/core/jobs/outcome.ts'
import {
  ConfigError,
  CredentialsRejectedError,
  MusetteError,
  RateLimitedError,
  RejectedError,
  TransientError,
  UnexpectedResponseError,
} from '../../../src/kit/errors.ts'

describe('outcomeOf', () => {
  const withCode = (code: string) => Object.assign(new Error('x'), { code })
  it.each([
    ['a passing error is tried again', new TransientError('x', 'x'), 'retry'],
    ['a raw error of Postgres while it starts', withCode('57P03'), 'retry'],
    ['a raw reset connection', withCode('ECONNRESET'), 'retry'],
    ['a network that is away', withCode('EHOSTUNREACH'), 'retry'],
    ['a deadlock', withCode('40P01'), 'retry'],
    ['rejected credentials park the account', new CredentialsRejectedError('x', 'x'), 'park'],
    ['a refusal is final', new RejectedError('x', 'x'), 'refuse'],
    ['an unreadable answer is final', new UnexpectedResponseError('x', 'x'), 'refuse'],
    ['wrong configuration is final', new ConfigError('x', 'x'), 'refuse'],
    ['any other error of ours is a defect', new MusetteError('x', 'x'), 'bug'],
    ['a broken statement is a defect', withCode('42601'), 'bug'],
    ['something thrown that is no error', 'rate limit timeout 429', 'bug'],
  ])('%s', (_title, error, kind) => {
    expect(outcomeOf(error)).toEqual({ kind })
  })

  it.each([
    [1_500.2, 1_501],
    [0, 1_000],
    [-5, 1_000],
    [Number.NaN, 1_000],
    [Number.POSITIVE_INFINITY, 21_600_000],
  ])('waits whole milliseconds within bounds for %d', (told, waitMs) => {
    expect(outcomeOf(new RateLimitedError('x', 'x', told))).toEqual({ kind: 'wait', waitMs })
  })
})

it('a job waits for a primary without spending an attempt, and a refused write is tried again after growing pauses', () => {
  const outcomes = ['database_standby', 'database_unfit', 'database_read_only'].map((code) =>
    outcomeOf(new TransientError(code, 'x')),
  )
  const waits = { kind: 'wait', waitMs: 5_000 }
  expect(outcomes).toEqual([waits, waits, { kind: 'retry' }])
})

describe('a failure as it is stored', () => {
  it('contains nothing that Postgres refuses, and is short', () => {
    const failure = makeFailure(new Error(`a\u0000b \ud83d ${'y'.repeat(9_000)}`), false)
    expect(failure.message.length).toBeLessThan(600)
    expect(failure.stack?.length).toBeLessThanOrEqual(4_000)
    for (const text of [failure.message, failure.stack ?? '']) {
      expect(text).not.toContain('\u0000')
      expect(text).toBe(Buffer.from(text).toString())
    }
  })

  it('is unrecoverable only when the job is dead', () => {
    expect(makeFailure('x', true)).toBeInstanceOf(UnrecoverableError)
    expect(makeFailure('x', false)).not.toBeInstanceOf(UnrecoverableError)
  })

  it.each([
    ['retry', 4, false],
    ['retry', 5, true],
    ['bug', 1, false],
    ['bug', 2, true],
    ['refuse', 0, true],
    ['park', 0, true],
  ] as const)('after %s with %i of six attempts made is dead: %s', (kind, made, dead) => {
    expect(isDead({ kind }, { made, allowed: 6 })).toBe(dead)
  })
})
