import { expect, it } from 'vitest'
import { listChecks } from '../../../src/program/doctor/doctor.ts'
import { eventually } from '../../kit/eventually.ts'
import { findFreePort } from '../../kit/listen.ts'
import { openForAll } from '../../kit/open-for.ts'
import { doctor, openSignedIn } from './rig.ts'

const rig = openForAll(() => openSignedIn())

it('the doctor of a mirror in order finds nothing wrong, in one line each, and does not disturb a running daemon', async () => {
  const http = { MUSETTE_HTTP: `127.0.0.1:${await findFreePort()}` }
  const daemon = rig.start(['start'], { env: http })
  await daemon.waitForLine(/"msg":"started"/)
  await eventually(async () => (await rig.musette(['healthcheck'], { env: http })).code === 0)
  const tokens = await rig.steer('GET', 'tokens')
  const { code, findings, of } = await doctor(rig, http)
  expect(findings.filter(({ state }) => state !== 'ok')).toEqual([])
  expect(code).toBe(0)
  expect([...new Set(findings.map(({ check }) => check))]).toEqual(
    (await listChecks()).map(({ name }) => name),
  )
  expect(of('queue')[0]?.found).toMatch(/\b([1-9]\d*) of \1 schedules/)
  expect(of('daemon')[0]?.found).toBe('runs and is ready')
  expect(of('service')[1]?.found).toContain('agrees')
  expect(of('login')[0]?.found).toMatch(/"default" is signed in; its token is .* old and ends in 6 d 23 h/)
  expect(await rig.steer('GET', 'tokens')).toEqual(tokens)
  const { stdout } = await rig.musette(['doctor'], { env: http })
  const lines = stdout.trim().split('\n')
  expect(lines.filter((line) => !/^ok +[a-z ]+: \S/.test(line))).toEqual([])
  expect(lines).toContainEqual(expect.stringContaining('database: DATABASE_URL at 127.0.0.1:'))
  const end = await daemon.kill('SIGTERM')
  expect(end.code).toBe(0)
  expect(end.stderr).not.toMatch(/"level":[456]0/)
})
