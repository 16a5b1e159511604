import { readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { listChecks } from '../../../src/program/doctor/doctor.ts'
import { eventually } from '../../kit/eventually.ts'
import { findFreePort } from '../../kit/listen.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { distPath, listProcessesNaming, runNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { doctor, openSignedIn } from './rig.ts'

const rig = openForAll(() => openSignedIn())

describe('the doctor of a mirror in order', () => {
  it('finds nothing wrong, in one line each, and does not disturb a running daemon', async () => {
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

  it('leaves nothing on an unused machine, and starts the embedded Postgres once it is there', async () => {
    const folder = await openForTest(openTempDir('doctor'))
    const options = { cwd: folder.path, env: { MUSETTE_HTTP: '127.0.0.1:9' } }
    const musette = (args: readonly string[], more: { env?: Record<string, string>; input?: string } = {}) =>
      runNode([distPath('main.js'), ...args], { ...options, ...more, env: { ...options.env, ...more.env } })
    const { code, of } = await doctor({ musette })
    expect(code).toBe(2)
    expect(of('service')[0]).toMatchObject({
      state: 'problem',
      run: expect.stringMatching(
        /^mkdir -p -m 700 (\S+) && \(umask 077; printf '\\n%s\\n' MUSETTE_BASE_URL=https:\/\/… >> \1\/musette.env\)$/,
      ),
    })
    expect(of('login')[0]).toMatchObject({ state: 'problem', run: 'musette login' })
    expect(of('database')[0]).toMatchObject({ state: 'ok' })
    const env = { MUSETTE_BASE_URL: rig.sandboxUrl }
    expect((await doctor({ musette }, env)).code).toBe(3)
    expect(await readdir(folder.path)).toEqual([])
    await musette(['login', '--username', 'rider', '--password-stdin'], { env, input: 'rider' })
    const { stdout } = await musette(['doctor'], { env })
    expect(stdout).toContain('ok        database: the embedded Postgres, Postgres 18')
    expect(stdout).toContain('ok        login: account "default" is signed in')
    await eventually(async () => (await listProcessesNaming(folder.path)).length === 0)
  })
})
