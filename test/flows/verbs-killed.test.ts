import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectMirrored } from '../core/mirror/truth.ts'
import { contentOf, readThrough } from '../features/backup/rig.ts'
import { eventually } from '../kit/eventually.ts'
import { openTestDatabase, queryOnce } from '../kit/postgres.ts'
import { whole } from '../kit/sampling.ts'
import { type CliRig, openCliRig } from '../program/cli/rig.ts'

/** At how many moments each is killed. Those of a rebuild: rebuild-killed.test.ts. */
const MOMENTS = whole ? 100 : 2
const LIMIT_MS = 60_000 + MOMENTS * 15_000

describe('a command that is killed at any moment', () => {
  let rig: CliRig
  beforeAll(async () => {
    rig = await openCliRig({ activities: 12 })
    await rig.signIn()
    expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
  })
  afterAll(() => rig?.close())

  const rows = (text: string) => queryOnce(rig.databaseUrl, text)
  const place = (name: string) => join(rig.dataDir, name)
  /** What a comparison may not change: all but the runs, and the activities, which say when they were compared. */
  const content = async () => {
    const {
      'training.sync_runs': _,
      'training.sync_runs_run_id_seq': __,
      'training.activities': ___,
      ...rest
    } = await contentOf(rig.databaseUrl)
    return rest
  }

  /** Runs a verb once to its end, and then kills it at moments by chance within the time that it took. */
  async function killAtMoments(
    args: readonly string[],
    {
      prepare,
      expectWell,
      env,
    }: {
      prepare?: () => Promise<unknown>
      expectWell: () => Promise<unknown>
      env?: () => Record<string, string>
    },
  ): Promise<void> {
    await prepare?.()
    const startedAt = performance.now()
    expect(await rig.start(args, { env: env?.() ?? {} }).finished).toMatchObject({ code: 0 })
    const tookMs = performance.now() - startedAt
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      await prepare?.()
      const process = rig.start(args, { env: env?.() ?? {} })
      await delay(Math.random() * tookMs)
      await process.kill('SIGKILL')
      await expectWell()
    }
  }

  it(
    'as a backup, leaves the older file or a whole one',
    async () => {
      const file = place('mirror.tar')
      expect(await rig.musette(['backup', file])).toMatchObject({ code: 0 })
      await killAtMoments(['backup', file], { expectWell: async () => readThrough(await readFile(file)) })
    },
    LIMIT_MS,
  )

  it(
    'as a restore, leaves an empty database or a whole one, and succeeds the next time',
    async () => {
      const file = place('restored.tar')
      expect(await rig.musette(['backup', file])).toMatchObject({ code: 0 })
      const source = await contentOf(rig.databaseUrl)
      let target = await openTestDatabase({ migrated: false })
      const env = () => ({ DATABASE_URL: target.url })
      try {
        await killAtMoments(['restore', file], {
          prepare: async () => {
            await target.close()
            target = await openTestDatabase({ migrated: false })
          },
          env,
          expectWell: async () => {
            const idle = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
            await eventually(async () => (await queryOnce(target.url, idle)).length === 0)
            const made = await queryOnce(
              target.url,
              `select to_regclass('training.accounts') is not null as made`,
            )
            const before = made[0]?.made === true
            const { code } = await rig.musette(['restore', file], { env: env() })
            expect(code).toBe(before ? 2 : 0)
            expect(await contentOf(target.url)).toEqual(source)
          },
        })
      } finally {
        await target.close()
      }
    },
    LIMIT_MS,
  )

  it(
    'as a verification of a backup, changes nothing, and succeeds the next time',
    async () => {
      const file = place('verified.tar')
      expect(await rig.musette(['backup', file])).toMatchObject({ code: 0 })
      const before = await contentOf(rig.databaseUrl)
      // Of a login of its own, whose databases no other test takes for its own.
      const role = `killed_${randomBytes(4).toString('hex')}`
      await rows(`create role ${role} login createdb password 'x'`)
      const url = new URL(rig.databaseUrl)
      url.username = role
      url.password = 'x'
      const env = () => ({ DATABASE_URL: url.href })
      await killAtMoments(['backup', '--verify', file], {
        env,
        expectWell: async () => expect(await contentOf(rig.databaseUrl)).toEqual(before),
      })
      expect(await rig.musette(['backup', '--verify', file], { env: env() })).toMatchObject({ code: 0 })
      // The next verification of an hour later drops what is left.
      const left = await rows(
        `select datname from pg_database where datname ~ '^musette_verify_' and datdba = '${role}'::regrole`,
      )
      for (const { datname } of left) await rows(`drop database ${datname} with (force)`)
      await rows(`drop role ${role}`)
    },
    LIMIT_MS,
  )

  it(
    'as a comparison with the service, changes nothing, and succeeds the next time',
    async () => {
      const before = await content()
      const equal = async () => expect(await content()).toEqual(before)
      await killAtMoments(['verify', '--all'], { expectWell: equal })
      for (let moment = 0; moment < MOMENTS; moment += 1) {
        const daemon = rig.start(['start'], { env: { MUSETTE_SCRUB_PER_DAY: '10000', MUSETTE_HTTP: 'off' } })
        await delay(300 + Math.random() * 2_000)
        await daemon.kill('SIGKILL')
      }
      await expectMirrored(rig)
      expect(await rig.musette(['verify', '--all'])).toMatchObject({ code: 0 })
    },
    LIMIT_MS,
  )

  it(
    'as an export, leaves a folder that the next one completes',
    async () => {
      const dir = place('history')
      let edits = 0
      await killAtMoments(['export', '--all', '--to', dir, '--raw'], {
        prepare: () => {
          edits += 1
          return rows(`update training.activities set name = 'Edit ${edits}'`)
        },
        expectWell: async () => {
          // Postgres keeps the lock of a killed process until it notices that the process is gone.
          await eventually(async () => (await rig.musette(['export', '--all', '--to', dir])).code === 0)
          expect(await rig.musette(['export', '--all', '--to', dir, '--check'])).toMatchObject({ code: 0 })
        },
      })
    },
    LIMIT_MS,
  )
})
