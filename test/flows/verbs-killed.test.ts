import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { contentOf, readThrough } from '../features/backup/rig.ts'
import { eventually } from '../kit/eventually.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../kit/postgres.ts'
import { whole } from '../kit/sampling.ts'
import { type CliRig, openCliRig } from '../program/cli/rig.ts'

/** Number of moments at which each command is killed. For a rebuild see rebuild-killed.test.ts. */
const MOMENTS = whole ? 100 : 2
vi.setConfig({ testTimeout: 150_000 + MOMENTS * 15_000 })

let rig: CliRig
beforeAll(async () => {
  rig = await openCliRig({ activities: 12 })
  await rig.signIn()
  expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
  expect(await rig.musette(['backup', fileOf('kept')])).toMatchObject({ code: 0 })
})
afterAll(() => rig?.close())

const rows = (text: string) => queryOnce(rig.databaseUrl, text)
const fileOf = (name: string) => join(rig.dataDir, `${name}.tar`)
/** Returns all rows except those that a comparison or a backup writes: runs, and the comparison times of activities. */
const content = async () => {
  const all = Object.entries(await contentOf(rig.databaseUrl))
  return all.filter(([table]) => !/^training\.(sync_runs|activities$)/.test(table))
}

/** A killed command, and the condition that must hold after each kill. */
type Killed = {
  args: readonly string[]
  prepare?: () => Promise<unknown>
  env?: () => Record<string, string>
  expectWell: () => Promise<unknown>
}

const KILLED: ReadonlyArray<[what: string, open: () => Promise<Killed>]> = [
  [
    'a backup leaves the older file or a complete one',
    async () => ({
      args: ['backup', fileOf('kept')],
      expectWell: async () => readThrough(await readFile(fileOf('kept'))),
    }),
  ],
  [
    'a restore leaves an empty or complete database, and succeeds the next time',
    async () => {
      expect(await rig.musette(['backup', fileOf('restored')])).toMatchObject({ code: 0 })
      const source = await contentOf(rig.databaseUrl)
      let target: TestDatabase | undefined
      onTestFinished(() => target?.close())
      const env = () => ({ DATABASE_URL: target?.url ?? '' })
      const own = (text: string) => queryOnce(env().DATABASE_URL, text)
      return {
        args: ['restore', fileOf('restored')],
        env,
        prepare: async () => {
          await target?.close()
          target = await openTestDatabase({ migrated: false })
        },
        expectWell: async () => {
          const others = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
          await eventually(async () => (await own(others)).length === 0)
          const [made] = await own(`select to_regclass('training.accounts') is not null as whole`)
          const { code } = await rig.musette(['restore', fileOf('restored')], { env: env() })
          expect(code).toBe(made?.whole ? 2 : 0)
          expect(await contentOf(env().DATABASE_URL)).toEqual(source)
        },
      }
    },
  ],
  [
    'a verification of a backup changes nothing, and succeeds the next time',
    async () => {
      // With a separate login, so that no other test uses its databases.
      const role = `killed_${randomBytes(4).toString('hex')}`
      await rows(`create role ${role} login createdb password 'x'`)
      onTestFinished(async () => {
        // The next verification an hour later would drop the remains.
        const left = `select datname from pg_database where datname ~ '^musette_verify_' and datdba = '${role}'::regrole`
        for (const { datname } of await rows(left)) await rows(`drop database ${datname} with (force)`)
        await rows(`drop role ${role}`)
      })
      const url = Object.assign(new URL(rig.databaseUrl), { username: role, password: 'x' }).href
      const before = await content()
      const env = () => ({ DATABASE_URL: url })
      const args = ['backup', '--verify', fileOf('kept')]
      return {
        args,
        env,
        expectWell: async () => {
          expect(await content()).toEqual(before)
          expect(await rig.musette(args, { env: env() })).toMatchObject({ code: 0 })
        },
      }
    },
  ],
  [
    'a comparison with the service changes nothing, and succeeds the next time',
    async () => {
      const before = await content()
      return {
        args: ['verify', '--all'],
        expectWell: async () => {
          expect(await content()).toEqual(before)
          expect(await rig.musette(['verify', '--all'])).toMatchObject({ code: 0 })
        },
      }
    },
  ],
  [
    'an export leaves a folder that the next export completes',
    async () => {
      const args = ['export', '--all', '--to', join(rig.dataDir, 'history')]
      let edits = 0
      return {
        args: [...args, '--raw'],
        prepare: () => {
          edits += 1
          return rows(`update training.activities set name = 'Edit ${edits}'`)
        },
        expectWell: async () => {
          // Postgres keeps the lock of a killed process until it notices the death of the process.
          await eventually(async () => (await rig.musette(args)).code === 0)
          expect(await rig.musette([...args, '--check'])).toMatchObject({ code: 0 })
        },
      }
    },
  ],
]

it.each(KILLED)('killed at any moment, %s', async (_what, open) => {
  const { args, prepare, env = () => ({}), expectWell } = await open()
  await prepare?.()
  const startedAt = performance.now()
  expect(await rig.start(args, { env: env() }).finished).toMatchObject({ code: 0 })
  const tookMs = performance.now() - startedAt
  for (let moment = 0; moment < MOMENTS; moment += 1) {
    await prepare?.()
    const process = rig.start(args, { env: env() })
    await delay(Math.random() * tookMs)
    await process.kill('SIGKILL')
    await expectWell()
  }
})
