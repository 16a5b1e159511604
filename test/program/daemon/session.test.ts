import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { openRig } from '../../core/mirror/rig.ts'
import { openForTest } from '../../kit/open-for.ts'
import { startNode } from '../../kit/processes.ts'

const child = fileURLToPath(new URL('calling-process.ts', import.meta.url))

it('20 callers in each of 3 processes refresh an expired token once', async () => {
  const rig = await openForTest(openRig({ activities: 1 }))
  const tokens = () => rig.steer<{ access: string[]; refresh: string[] }>('GET', 'tokens')
  await rig.steer('PATCH', 'settings', { reuse_revokes_grant: true })
  await rig.steer('POST', 'tokens/expire')
  // Long enough for each process to request its own pair, if it could.
  const answer = { method: 'POST', path: '^/oauth/token$', kind: 'slow', duration_ms: 3_000 }
  await rig.steer('POST', 'faults', { ...answer, times: 'always' })
  const before = (await tokens()).refresh.length
  const env = {
    DATABASE_URL: rig.databaseUrl,
    MUSETTE_DATA_DIR: rig.dataDir,
    MUSETTE_REQUESTS_PER_MINUTE: '100000',
    MUSETTE_CONCURRENCY: '20',
  }
  const callers = [1, 2, 3].map(() => startNode(['--import', 'tsx', child], { typed: true, env }))
  onTestFinished(async () => void (await Promise.all(callers.map((caller) => caller.kill('SIGKILL')))))
  await Promise.all(callers.map((caller) => caller.waitForLine(/^ready$/)))
  for (const caller of callers) caller.type('call')
  const { access, refresh } = await tokens()
  for (const { stdout, stderr } of await Promise.all(callers.map(({ finished }) => finished))) {
    expect(JSON.parse(stdout.replace('ready\n', ''))).toEqual({ succeeded: 20, failed: [] })
    const secrets = [...access, ...refresh, ...(await tokens()).access]
    expect(secrets.filter((secret) => stderr.includes(secret))).toEqual([])
  }
  expect((await tokens()).refresh.length - before).toBe(1)
  expect(await rig.rows('select needs_login from training.accounts')).toEqual([{ needs_login: false }])
})
