import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listChecks } from '../../../src/program/doctor/doctor.ts'
import { eventually } from '../../kit/eventually.ts'
import { distPath, listProcessesNaming, runNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import type { CliRig } from '../cli/rig.ts'
import { doctor, openSignedIn } from './rig.ts'

let rig: CliRig
beforeAll(async () => {
  rig = await openSignedIn()
})
afterAll(() => rig.close())

describe('the doctor of a mirror in order', () => {
  it('finds nothing wrong, and does not disturb a running daemon', async () => {
    const port = await findPort()
    const http = { MUSETTE_HTTP: `127.0.0.1:${port}` }
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
    const end = await daemon.kill('SIGTERM')
    expect(end.code).toBe(0)
    expect(end.stderr).not.toMatch(/"level":[456]0/)
  })

  it('writes one line for each finding', async () => {
    const { stdout, stderr, code } = await rig.musette(['doctor'])
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
    const lines = stdout.trim().split('\n')
    expect(lines.filter((line) => !/^(ok|warning|problem|left out) +[a-z ]+: \S/.test(line))).toEqual([])
    expect(stdout).toContain('ok        database: DATABASE_URL at 127.0.0.1:')
  })

  it('starts the embedded Postgres for its checks when no other program runs it', async () => {
    const folder = await openTempDir('doctor')
    const env = { ...rig.env, DATABASE_URL: '', MUSETTE_DATA_DIR: folder.path }
    const run = (args: readonly string[], input?: string) =>
      runNode([distPath('main.js'), ...args], { env, ...(input !== undefined && { input }) })
    try {
      await run(['login', '--username', 'rider', '--password-stdin'], 'rider')
      const { code, stdout } = await run(['doctor'])
      expect(code).toBe(0)
      expect(stdout).toContain('ok        database: the embedded Postgres, Postgres 18')
      expect(stdout).toContain('ok        login: account "default" is signed in')
      await eventually(async () => (await listProcessesNaming(folder.path)).length === 0)
    } finally {
      await folder.close()
    }
  })

  it('leaves nothing on an unused machine', async () => {
    const folder = await openTempDir('doctor')
    try {
      const fresh = {
        musette: (args: readonly string[], options?: { env?: Record<string, string> }) =>
          runNode([distPath('main.js'), ...args], {
            cwd: folder.path,
            env: { MUSETTE_HTTP: '127.0.0.1:9', ...options?.env },
          }),
      }
      const { code, of } = await doctor(fresh)
      expect(code).toBe(2)
      expect(of('service')[0]).toMatchObject({
        state: 'problem',
        run: expect.stringMatching(
          /^mkdir -p -m 700 (\S+) && \(umask 077; printf '\\n%s\\n' MUSETTE_BASE_URL=https:\/\/… >> \1\/musette.env\)$/,
        ),
      })
      expect(of('login')[0]).toMatchObject({ state: 'problem', run: 'musette login' })
      expect(of('database')[0]).toMatchObject({ state: 'ok' })
      expect((await doctor(fresh, { MUSETTE_BASE_URL: rig.sandboxUrl })).code).toBe(3)
      expect(await readdir(folder.path)).toEqual([])
    } finally {
      await folder.close()
    }
  })
})

async function findPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
