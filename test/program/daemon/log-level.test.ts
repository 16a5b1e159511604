import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toggleDebug } from '../../../src/log.ts'
import { makeTestLog } from '../../kit/log.ts'
import { type CliRig, openCliRig } from '../cli/rig.ts'

describe('the level of the log at run time', () => {
  let rig: CliRig
  beforeAll(async () => {
    rig = await openCliRig({ activities: 1 })
  })
  afterAll(() => rig.close())

  it('becomes debug by SIGUSR2, and the configured one by the next SIGUSR2', async () => {
    const daemon = rig.start(['start'])
    await daemon.waitForLine(/"msg":"started"/)
    process.kill(daemon.pid, 'SIGUSR2')
    await daemon.waitForLine(/"shown":"debug"/)
    // The sweep comes every ten seconds, and its end is a line of debug.
    await daemon.waitForLine(/"level":20/)
    process.kill(daemon.pid, 'SIGUSR2')
    await daemon.waitForLine(/"shown":"info"/)
    expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0 })
  })

  it('is logged at every configured level, and returns to it', () => {
    for (const configured of ['trace', 'debug', 'info', 'warn', 'error', 'silent']) {
      const { log, lines } = makeTestLog(configured)
      const other = toggleDebug(log, configured)
      expect(other, configured).toBe(['trace', 'debug'].includes(configured) ? 'info' : 'debug')
      expect(log.level).toBe(other)
      expect(toggleDebug(log, configured)).toBe(configured)
      expect(log.level).toBe(configured)
      expect(
        lines.map((line) => line.shown),
        configured,
      ).toEqual([other, configured])
    }
  })
})
