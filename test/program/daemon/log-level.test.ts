import { expect, it } from 'vitest'
import { toggleDebug } from '../../../src/log.ts'
import { makeTestLog } from '../../kit/log.ts'

// The signal that does this: stopping.test.ts.
it.each([
  ['trace', 'info'],
  ['debug', 'info'],
  ['info', 'debug'],
  ['silent', 'debug'],
])('the level of the log is %s or %s, which is logged at every level', (configured, other) => {
  const { log, lines } = makeTestLog(configured)
  for (const level of [other, configured]) {
    expect(toggleDebug(log, configured)).toBe(level)
    expect(log.level).toBe(level)
  }
  expect(lines.map((line) => line.shown)).toEqual([other, configured])
})
