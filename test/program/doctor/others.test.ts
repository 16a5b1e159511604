import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimFolder } from '../../../src/kit/folders/folder-owner.ts'
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
    const folder = (name: string) => join(rig.dataDir, name)
    const other = makeIdentity()
    for (const name of ['drop', 'workouts', 'history']) {
      await mkdir(folder(name), { recursive: true })
      await claimFolder(folder(name), other)
    }
    await mkdir(folder('backups'))
    await writeFile(join(folder('backups'), 'musette-20240131T060000Z-00000000.tar'), '')
    const env = {
      MUSETTE_DROP_DIR: folder('drop'),
      MUSETTE_WORKOUT_DIR: folder('workouts'),
      MUSETTE_EXPORT_DIR: folder('history'),
      MUSETTE_BACKUP_DIR: folder('backups'),
    }
    const { code, of } = await doctor(rig, env)
    expect(code).toBe(2)
    const told = of('shared folders')
    const problems = told.filter(({ state }) => state === 'problem')
    const [shared, ...others] = told.filter(({ state }) => state === 'warning')
    expect([problems.length, others]).toEqual([3, []])
    const { stdout } = await rig.musette(['status'], { env })
    for (const setting of Object.keys(env))
      expect(stdout).toMatch(new RegExp(`^  ${setting}: .*; run: `, 'm'))
    const [database] = await queryOnce(rig.databaseUrl, 'select identity, line from training.database')
    expect(JSON.parse((await rig.musette(['status', '--json'])).stdout)).toMatchObject({ ...database })
    for (const { run } of problems) await type('rm ${', run)
    const [unclaimed] = (await doctor(rig, env)).of('shared folders')
    expect(unclaimed?.found).toBe(shared?.found)
    const typed = await type('export M', unclaimed?.run, { env: { ...rig.env, ...env } })
    expect((await doctor(rig, typed.env)).of('shared folders')).toMatchObject([{ state: 'ok' }])
    await rm(folder('drop'), { recursive: true })
  })

  it('is a folder with backups from before a restore', async () => {
    const dir = join(rig.dataDir, 'earlier')
    const earlier = join(dir, 'musette-20240131T060000Z-00000000.tar')
    await mkdir(dir)
    expect(await rig.musette(['backup', earlier])).toMatchObject({ code: 0 })
    const shared = async () => (await doctor(rig, { MUSETTE_BACKUP_DIR: dir })).of('shared folders')
    const [finding] = await shared()
    expect(finding?.found).toContain('remove them if not needed')
    expect((await type('ls -l', finding?.run)).printed).toContain(basename(earlier))
    await rm(earlier)
    expect(await shared()).toMatchObject([{ state: 'ok' }])
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
