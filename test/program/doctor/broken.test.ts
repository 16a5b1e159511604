import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listChecks } from '../../../src/program/doctor/doctor.ts'
import { distPath } from '../../kit/processes.ts'
import type { CliRig } from '../cli/rig.ts'
import { doctor, openSignedIn, SECRET } from './rig.ts'

const ALL = (await listChecks()).map(({ name }) => name)

let rig: CliRig
beforeAll(async () => {
  rig = await openSignedIn()
})
afterAll(() => rig.close())

describe('what is broken', () => {
  const elsewhere = 'http://127.0.0.1:9'
  const BROKEN = [
    {
      what: 'a variable that cannot be understood',
      env: { MUSETTE_LAG: SECRET, MUSETTE_POLL_EVERY: SECRET },
      code: 2,
      check: 'configuration',
      run: 'musette config',
      leftOut: ['queue', 'mirror', 'heartbeat'],
    },
    {
      what: 'a database that is away',
      env: { DATABASE_URL: `postgres://nobody:${SECRET}@127.0.0.1:9/none` },
      code: 4,
      check: 'database',
      run: 'pg_isready -d postgres://127.0.0.1:9/none',
      leftOut: ['queue', 'secret key', 'login', 'mirror', 'waiting files', 'fit files', 'shared folders'],
    },
    {
      what: 'a Redis that is away',
      env: { REDIS_URL: `redis://:${SECRET}@127.0.0.1:9` },
      code: 4,
      check: 'redis',
      run: 'redis-cli -u redis://127.0.0.1:9 --askpass ping',
      leftOut: ['queue'],
    },
    {
      what: 'another key',
      env: { MUSETTE_SECRET_KEY: randomBytes(32).toString('base64') },
      code: 2,
      check: 'secret key',
      run: 'musette login',
      leftOut: ['login'],
    },
    {
      what: 'a service that is away',
      env: { MUSETTE_BASE_URL: elsewhere },
      code: 4,
      check: 'service',
      run: `curl -I ${elsewhere}`,
      leftOut: [],
    },
    {
      what: 'a dashboard open to everybody',
      env: { MUSETTE_HTTP: '0.0.0.0:9' },
      code: 2,
      check: 'daemon',
      run: /^\(umask 077; printf '\\n%s\\n' MUSETTE_HTTP_TOKEN="\$\(openssl rand -hex 24\)" >> \S+\/musette.env\)$/,
      leftOut: [],
    },
    {
      what: 'a drop folder that is none',
      env: { MUSETTE_DROP_DIR: distPath('main.js') },
      code: 2,
      check: 'drop folder',
      run: 'export MUSETTE_DROP_DIR=…',
      leftOut: [],
    },
  ]

  it.each(BROKEN)(
    'is found without hiding other findings: $what',
    async ({ env, code, check, run, leftOut }) => {
      const found = await doctor(rig, env)
      expect(found.code).toBe(code)
      expect(found.of(check)).toContainEqual(
        expect.objectContaining({
          state: 'problem',
          run: typeof run === 'string' ? run : expect.stringMatching(run),
        }),
      )
      expect([...new Set(found.findings.map((finding) => finding.check))]).toEqual(ALL)
      expect(found.findings.filter(({ state }) => state === 'left_out').map((one) => one.check)).toEqual(
        leftOut,
      )
      const others = found.findings.filter((one) => one.check !== check && one.state === 'problem')
      expect(others).toEqual([])
    },
  )

  it('has the exit code of the most urgent problem', async () => {
    const env = {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none',
      MUSETTE_HTTP: '0.0.0.0:9',
    }
    const { code, of } = await doctor(rig, env)
    expect(of('database')[0]?.state).toBe('problem')
    expect(code).toBe(2)
  })
})
