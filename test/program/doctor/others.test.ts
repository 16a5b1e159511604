import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FEATURES } from '../../../src/features/index.ts'
import { claimFolder } from '../../../src/kit/folders/folder-owner.ts'
import { loadStates } from '../../../src/program/frame/findings/facts.ts'
import { makeIdentity } from '../../kit/identity.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { type CliRig, openCliRig } from '../cli/rig.ts'
import { doctor, openSignedIn, type } from './rig.ts'

let rig: CliRig
beforeAll(async () => {
  rig = await openSignedIn()
})
afterAll(() => rig.close())

describe('what is broken', () => {
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
