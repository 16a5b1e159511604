import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { startNode } from '../../kit/processes.ts'

const PROCESSES = 3
const child = fileURLToPath(new URL('calling-process.ts', import.meta.url))

let rig: Rig
beforeEach(async () => {
  rig = await openRig({ activities: 1 })
})
afterEach(() => rig.close())

/** Lets all processes call at the same moment, when each of them is ready; returns how each of them ended. */
async function callFromEverywhere() {
  const callers = Array.from({ length: PROCESSES }, () =>
    startNode(['--import', 'tsx', child], {
      typed: true,
      env: {
        DATABASE_URL: rig.databaseUrl,
        MUSETTE_DATA_DIR: rig.dataDir,
        MUSETTE_REQUESTS_PER_MINUTE: '100000',
        MUSETTE_CONCURRENCY: '20',
      },
    }),
  )
  try {
    await Promise.all(callers.map((caller) => caller.waitForLine(/^ready$/)))
    for (const caller of callers) caller.type('call')
    return await Promise.all(callers.map((caller) => caller.finished))
  } finally {
    for (const caller of callers) void caller.kill('SIGKILL')
  }
}

const answerOf = (stdout: string) => JSON.parse(stdout.replace('ready\n', ''))

const tokens = async () => (await rig.steer('GET', 'tokens')) as { access: string[]; refresh: string[] }

it('20 callers in each of 3 processes refresh an expired token once', async () => {
  await rig.steer('PATCH', 'settings', { reuse_revokes_grant: true })
  await rig.steer('POST', 'tokens/expire')
  // Long enough for each process to ask for a pair of its own, if it could.
  const answer = { method: 'POST', path: '^/oauth/token$', kind: 'slow', duration_ms: 3_000 }
  await rig.steer('POST', 'faults', { ...answer, times: 'always' })
  const before = (await tokens()).refresh.length
  const ends = await callFromEverywhere()
  expect(ends.map((end) => answerOf(end.stdout))).toEqual(
    Array.from({ length: PROCESSES }, () => ({ succeeded: 20, failed: [] })),
  )
  expect((await tokens()).refresh.length - before).toBe(1)
  const [account] = await rig.rows('select needs_login from training.accounts')
  expect(account).toEqual({ needs_login: false })
})

it('the logs of those processes show no token', async () => {
  await rig.steer('POST', 'tokens/expire')
  await rig.steer('POST', 'faults', {
    method: 'POST',
    path: '^/oauth/token$',
    kind: 'status',
    status: 500,
    times: 1,
  })
  const ends = await callFromEverywhere()
  const written = ends.map((end) => end.stdout + end.stderr).join('\n')
  expect(written).toContain('tokens could not be refreshed')
  const { access, refresh } = await tokens()
  for (const secret of [...access, ...refresh]) expect(written.includes(secret)).toBe(false)
})
