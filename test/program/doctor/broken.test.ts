import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FEATURES } from '../../../src/features/index.ts'
import { claimFolder } from '../../../src/kit/folders/folder-owner.ts'
import { listChecks } from '../../../src/program/doctor/doctor.ts'
import { loadStates } from '../../../src/program/frame/findings/facts.ts'
import { makeSpoolText } from '../../core/vault/vault.ts'
import { findSpoolName, makeIdentity } from '../../kit/identity.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath } from '../../kit/processes.ts'
import { type CliRig, openCliRig } from '../cli/rig.ts'
import { doctor, openSignedIn, SECRET, type, typeVerb } from './rig.ts'

/** The checks of features that know how often it is polled. */
const POLLING = (await loadStates(FEATURES)).flatMap(({ check, variables }) =>
  variables.includes('MUSETTE_POLL_EVERY') ? [check] : [],
)
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
      leftOut: ['queue', 'mirror', ...POLLING],
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

  it('is a database of another version', async () => {
    const [newest] = await queryOnce(rig.databaseUrl, 'select max(created_at) as at from musette.migrations')
    const setTo = (at: unknown) =>
      queryOnce(
        rig.databaseUrl,
        'update musette.migrations set created_at = $1 where created_at = (select max(created_at) from musette.migrations)',
        [at],
      )
    try {
      await setTo(Number(newest?.at) + 1)
      const newer = await doctor(rig)
      expect(newer.code).toBe(2)
      expect(newer.of('database')[0]?.found).toContain('newer musette; install that version')
    } finally {
      await setTo(newest?.at)
    }
    const empty = await openCliRig({ activities: 1, migrated: false })
    try {
      const { code, of } = await doctor(empty)
      expect(code).toBe(3)
      expect(of('database').map(({ found }) => found)).toContain('it is empty; the first login sets it up')
      expect(of('login')[0]).toMatchObject({ state: 'problem', run: 'musette login' })
    } finally {
      await empty.close()
    }
  })

  it('is a folder of another database, as status also says, with the command to type', async () => {
    const states = await loadStates(FEATURES)
    const folders = [
      { variable: 'MUSETTE_DROP_DIR', severity: 'problem' },
      ...states.flatMap(({ folder }) =>
        folder ? [{ variable: folder.variable, severity: folder.rule?.severity }] : [],
      ),
    ]
    const other = makeIdentity()
    const env: Record<string, string> = {}
    for (const { variable } of folders) {
      const dir = join(rig.dataDir, variable)
      await mkdir(dir)
      await claimFolder(dir, other)
      // Backups tell by their names whose they are.
      await writeFile(join(dir, 'musette-20240131T060000Z-00000000.tar'), '')
      env[variable] = dir
    }
    const calm = folders.filter(({ severity }) => severity === 'calm').length
    const { code, of } = await doctor(rig, env)
    expect(code).toBe(2)
    const told = of('shared folders')
    const problems = told.filter(({ state }) => state === 'problem')
    const warnings = told.filter(({ state }) => state === 'warning')
    expect([problems.length, warnings.length]).toEqual([folders.length - calm, calm])
    const { stdout } = await rig.musette(['status'], { env })
    for (const setting of Object.keys(env))
      expect(stdout).toMatch(new RegExp(`^  ${setting}: .*; run: `, 'm'))
    const [database] = await queryOnce(rig.databaseUrl, 'select identity, line from training.database')
    expect(JSON.parse((await rig.musette(['status', '--json'])).stdout)).toMatchObject({ ...database })
    for (const { run } of problems) await type('rm ${', run)
    const left = (await doctor(rig, env)).of('shared folders').filter(({ state }) => state !== 'ok')
    expect(left.map(({ found }) => found)).toEqual(warnings.map(({ found }) => found))
    let mended: Record<string, string> = { ...rig.env, ...env }
    for (const { run } of left) mended = (await type('export M', run, { env: mended })).env
    expect((await doctor(rig, mended)).of('shared folders')).toMatchObject([{ state: 'ok' }])
    await rm(join(rig.dataDir, 'MUSETTE_DROP_DIR'), { recursive: true })
  })

  it('is something else at the address of the service', async () => {
    const server = createServer((_request, answer) =>
      answer.end('<!doctype html><html>a page of the router</html>'),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const { code, of } = await doctor(rig, { MUSETTE_BASE_URL: `http://127.0.0.1:${port}` })
      expect(code).toBe(2)
      expect(of('service')[0]?.found).toContain('may not be the service')
    } finally {
      server.close()
    }
  })

  it('is a clock that differs from the clock of the service', async () => {
    const setSkew = (ms: number) => rig.steer('PATCH', 'settings', { clock_skew_ms: ms })
    try {
      await setSkew(-120_000)
      const little = await doctor(rig)
      expect(little.code).toBe(0)
      expect(little.of('service')[1]).toMatchObject({
        state: 'warning',
        run: 'sudo timedatectl set-ntp true',
      })
      expect(little.of('service')[1]?.found).toMatch(/(1 min 59 s|2 min( \d s)?) ahead of/)
      await setSkew(3_600_000)
      const much = await doctor(rig)
      expect(much.code).toBe(2)
      expect(much.of('service')[1]?.found).toMatch(/behind/)
    } finally {
      await setSkew(0)
    }
  })
})

describe('a login', () => {
  const setLogin = (columns: string) =>
    queryOnce(rig.databaseUrl, `update musette.credentials set ${columns}`)

  it('of a rider with two is reported with the command that ends one', async () => {
    const login = ['login', 'again', '--username', 'rider', '--password-stdin']
    expect(await rig.musette(login, { input: 'rider' })).toMatchObject({ code: 0 })
    const shared = async () =>
      (await doctor(rig)).of('mirror').filter(({ found }) => found.includes('activities in common'))
    expect(await shared()).toEqual([])
    await queryOnce(
      rig.databaseUrl,
      `insert into training.activities (account_id, path, detail_state, listed_at, wanted_at)
       select account_id, 'both', 'mirrored', now(), now() from training.accounts returning 1`,
    )
    const told = await shared()
    expect(told).toMatchObject([
      { state: 'warning', found: expect.stringContaining('"default" and "again"') },
    ])
    expect(await typeVerb('musette logout', told[0]?.run, { env: rig.env })).toMatchObject({ code: 0 })
    expect(await shared()).toEqual([])
    await queryOnce(rig.databaseUrl, `delete from training.accounts where name = 'again'`)
    await queryOnce(rig.databaseUrl, `delete from training.activities where path = 'both'`)
  })

  it('that is refused or has ended is in doctor and status with the command', async () => {
    await setLogin(`refused_since = now() - interval '50 minutes'`)
    expect((await doctor(rig)).of('login')[0]?.state).toBe('ok')
    await setLogin(`refused_since = now() - interval '3 hours'`)
    const refused = (await doctor(rig)).of('login')[0]
    expect(refused).toMatchObject({ state: 'warning', run: 'musette sync' })
    expect(refused?.found).toContain('tokens that the service refuses, for 3 h')
    const status = await rig.musette(['status', '--json'])
    expect(JSON.parse(status.stdout).accounts[0]).toMatchObject({
      login_code: 'token_refused',
      next_command: 'musette sync',
    })
    await setLogin('refused_since = null')
    await queryOnce(rig.databaseUrl, `update training.accounts set needs_login = true`)
    const parked = await doctor(rig)
    expect(parked.code).toBe(3)
    expect(parked.of('login')[0]).toMatchObject({
      state: 'problem',
      found: 'account "default" needs a login; nothing new is mirrored until then',
      run: 'musette login',
    })
    await queryOnce(rig.databaseUrl, 'update training.accounts set needs_login = false')
    expect((await doctor(rig)).code).toBe(0)
  })

  it('with newer tokens in a spool file, also a damaged one, is reported', async () => {
    const [row] = await queryOnce(rig.databaseUrl, 'select * from musette.credentials')
    const spool = join(rig.dataDir, await findSpoolName(rig.databaseUrl, row?.account_id))
    const later = new Date(Number(row?.obtained_at) + 1_000)
    await writeFile(spool, makeSpoolText(row, { obtainedAt: later }), { mode: 0o600 })
    const waiting = await doctor(rig)
    expect(waiting.code).toBe(0)
    expect(waiting.of('login')[1]).toMatchObject({ state: 'warning', run: 'musette sync' })
    await writeFile(spool, '{')
    const damaged = await doctor(rig)
    expect(damaged.code).toBe(2)
    expect(damaged.of('login')[1]).toMatchObject({ state: 'problem', run: 'musette login' })
    await rename(spool, `${spool}.damaged`)
  })
})
