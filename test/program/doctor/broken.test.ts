import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FEATURES } from '../../../src/features/index.ts'
import { claimFolder } from '../../../src/kit/folders/folder-owner.ts'
import { quoteShell } from '../../../src/kit/text.ts'
import { listChecks } from '../../../src/program/doctor/doctor.ts'
import { loadStates } from '../../../src/program/frame/findings/facts.ts'
import { makeIdentity } from '../../kit/identity.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { findOrdinaryUser } from '../../kit/ordinary-user.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { readEnv, readTable } from '../../kit/table.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { doctor, type Found, openSignedIn, SECRET, type, typeVerb } from './rig.ts'

/** The checks of features that know how often it is polled. */
const POLLING = (await loadStates(FEATURES)).flatMap(({ check, variables }) =>
  variables.includes('MUSETTE_POLL_EVERY') ? [check] : [],
)
const ALL = (await listChecks()).map(({ name }) => name)

const rig = openForAll(() => openSignedIn())

/** What is broken | its setting | the code | the check | its command | the checks that are left out. */
const BROKEN = readTable(String.raw`
variables that cannot be understood | MUSETTE_LAG=${SECRET} MUSETTE_POLL_EVERY=${SECRET} | 2 | configuration | ^musette config$ | ${['queue', 'mirror', ...POLLING].join(', ')}
a database that is away | DATABASE_URL=postgres://nobody:${SECRET}@127.0.0.1:9/none | 4 | database | ^pg_isready -d postgres://127.0.0.1:9/none$ | queue, secret key, login, mirror, waiting files, fit files, shared folders
a Redis that is away | REDIS_URL=redis://:${SECRET}@127.0.0.1:9 | 4 | redis | ^redis-cli -u redis://127.0.0.1:9 --askpass ping$ | queue
another key | MUSETTE_SECRET_KEY=${randomBytes(32).toString('base64')} | 2 | secret key | ^musette login$ | login
a service that is away | MUSETTE_BASE_URL=http://127.0.0.1:9 | 4 | service | ^curl -I http://127.0.0.1:9$ |
a dashboard open to everybody | MUSETTE_HTTP=0.0.0.0:9 | 2 | daemon | ^\(umask 077; printf '\\n%s\\n' MUSETTE_HTTP_TOKEN="\$\(openssl rand -hex 24\)" >> \S+/musette.env\)$ |
a drop folder that is none | MUSETTE_DROP_DIR=${distPath('main.js')} | 2 | drop folder | ^export MUSETTE_DROP_DIR="\$HOME/musette-drop"$ |`)

describe('what is broken', () => {
  it.each(BROKEN)(
    'is found without hiding other findings: %s',
    async (_what, setting = '', code, check = '', run = '', leftOut = '') => {
      const found = await doctor(rig, readEnv(setting))
      expect(found.code).toBe(Number(code))
      const problem = { state: 'problem', run: expect.stringMatching(run) }
      expect(found.of(check)).toContainEqual(expect.objectContaining(problem))
      expect([...new Set(found.findings.map((finding) => finding.check))]).toEqual(ALL)
      const checksOf = (wanted: string) =>
        found.findings.filter(({ state }) => state === wanted).map((one) => one.check)
      expect(checksOf('left_out').join(', ')).toBe(leftOut)
      expect(new Set(checksOf('problem'))).toEqual(new Set([check]))
    },
  )

  it('has the exit code of the most urgent problem', async () => {
    const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none', MUSETTE_HTTP: '0.0.0.0:9' }
    expect(await doctor(rig, env)).toMatchObject({ code: 2 })
    await rig.rows(`update training.accounts set needs_login = true`)
    expect(await doctor(rig)).toMatchObject({ code: 3 })
    await rig.rows('update training.accounts set needs_login = false')
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
    for (const { run } of problems) await type('rm ${', run)
    const left = (await doctor(rig, env)).of('shared folders').filter(({ state }) => state !== 'ok')
    expect(left.map(({ found }) => found)).toEqual(warnings.map(({ found }) => found))
    let mended: Record<string, string> = { ...rig.env, ...env }
    for (const { run } of left) mended = (await type('export M', run, { env: mended })).env
    expect((await doctor(rig, mended)).of('shared folders')).toMatchObject([{ state: 'ok' }])
    await rm(join(rig.dataDir, 'MUSETTE_DROP_DIR'), { recursive: true })
  })

  it.each([
    ['a little', -120_000, 0, 'warning', /(1 min 59 s|2 min( \d s)?) ahead of/],
    ['much', 3_600_000, 2, 'problem', /behind/],
  ])('is a clock that differs %s from the clock of the service', async (_what, ms, code, state, says) => {
    await rig.steer('PATCH', 'settings', { clock_skew_ms: ms })
    const found = await doctor(rig)
    await rig.steer('PATCH', 'settings', { clock_skew_ms: 0 })
    expect(found.code).toBe(code)
    expect(found.of('service')[1]).toMatchObject({ state, run: 'sudo timedatectl set-ntp true' })
    expect(found.of('service')[1]?.found).toMatch(says)
  })
})

describe('a login', () => {
  it('of a rider with two is reported with the command that ends one', async () => {
    expect(await rig.signIn('again')).toMatchObject({ code: 0 })
    const shared = async () =>
      (await doctor(rig)).of('mirror').filter(({ found }) => found.includes('the same activities'))
    expect(await shared()).toEqual([])
    await rig.rows(
      `insert into training.activities (account_id, path, detail_state, listed_at, wanted_at)
       select account_id, 'both', 'mirrored', now(), now() from training.accounts returning 1`,
    )
    const told = await shared()
    expect(told).toMatchObject([
      { state: 'warning', found: expect.stringContaining('"default" and "again"') },
    ])
    expect(await typeVerb('musette logout', told[0]?.run, { env: rig.env })).toMatchObject({ code: 0 })
    expect(await shared()).toEqual([])
    await rig.rows(`delete from training.accounts where name = 'again'`)
    await rig.rows(`delete from training.activities where path = 'both'`)
  })
})

describe('what is broken on the disk', () => {
  it('is a key file that is gone, damaged, or left behind by a rotation', async () => {
    const path = join(rig.dataDir, 'secret.key')
    const [row] = await rig.rows('select key_id from musette.credentials')
    const pending = `${path}.new-${row?.key_id}`
    await rename(path, pending)
    await writeFile(path, randomBytes(32).toString('base64'), { mode: 0o600 })
    expect((await doctor(rig)).of('secret key')[0]).toMatchObject({ state: 'warning', run: 'musette status' })
    await writeFile(path, 'half a k')
    const damaged = await doctor(rig)
    expect(damaged.code).toBe(2)
    expect(damaged.of('secret key')[0]?.found).toContain('does not hold 32 bytes')
    await rename(pending, `${path}.aside`)
    await rename(path, `${path}.damaged`)
    const gone = await doctor(rig)
    expect(gone.of('secret key')[0]).toMatchObject({ state: 'problem', run: 'musette login' })
    expect(gone.of('login')).toEqual([
      expect.objectContaining({ state: 'left_out', found: expect.stringContaining('cannot be opened') }),
    ])
    expect(await readdir(rig.dataDir)).not.toContain('secret.key')
    await rename(`${path}.aside`, path)
    expect((await doctor(rig)).code).toBe(0)
  })

  it('is a folder that this user may not write', async () => {
    const prefix = await findOrdinaryUser()
    const folder = await openForTest(openTempDir('doctor'))
    await chmod(folder.path, 0o755)
    const isRoot = prefix[0] === 'setpriv'
    // Of the folders of features one is read-only, one is root's, which only root can give to another user, and one is missing.
    const [chmodWay, chownWay, mkdirWay] = ['chmod u+rwX', 'sudo chown', 'sudo mkdir'] as const
    const ofFeatures = (await loadStates(FEATURES)).flatMap(({ check, folder }) =>
      folder ? [{ check, variable: folder.variable }] : [],
    )
    const places = [
      { check: 'data directory', variable: 'MUSETTE_DATA_DIR', way: chmodWay },
      { check: 'drop folder', variable: 'MUSETTE_DROP_DIR', way: chmodWay },
      ...ofFeatures.map((one, n) => ({ ...one, way: [chmodWay, chownWay, mkdirWay][n % 3] ?? mkdirWay })),
    ].map((one, n) => ({ ...one, dir: join(folder.path, `no ${n}`) }))
    for (const { way, dir } of places) {
      if (way !== mkdirWay) await mkdir(dir)
      if (way === chmodWay && isRoot) await chown(dir, 65_534, 65_534)
      if (way === chmodWay) await chmod(dir, 0o555)
    }
    const env = { ...rig.env, ...Object.fromEntries(places.map(({ variable, dir }) => [variable, dir])) }
    const lookAgain = async () => {
      const { stdout } = await runNode([distPath('main.js'), 'doctor', '--json'], { cwd: '/', env, prefix })
      const { findings } = JSON.parse(stdout) as { findings: Found[] }
      return (check: string) => findings.find((one) => one.check === check)
    }
    const found = await lookAgain()
    const settings = join(places[0]?.dir ?? '', 'musette.env')
    expect(found('drop folder')?.run).toBe(
      `(umask 077; printf '\\n%s\\n' MUSETTE_AFTER_UPLOAD=keep >> ${quoteShell(settings)})`,
    )
    const tried = places.filter(({ check, way }) => check !== 'drop folder' && (isRoot || way === chmodWay))
    for (const { check, way, dir } of tried) {
      if (way === chmodWay)
        expect(found(check)).toMatchObject({ state: 'problem', run: `chmod u+rwX ${quoteShell(dir)}` })
      else expect(found(check)?.found).toContain('cannot be used by this user')
      await type(way, found(check)?.run, { prefix })
    }
    const mended = await lookAgain()
    for (const { check } of tried) {
      expect(mended(check)?.found).not.toBe(found(check)?.found)
      expect(mended(check)?.found).not.toContain('cannot be used by this user')
    }
  })
})
