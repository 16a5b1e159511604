import { execFileSync } from 'node:child_process'
import { lstat, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findIdentity } from '../../../src/core/store/database-facts.ts'
import { withExclusiveWork } from '../../../src/core/store/store.ts'
import { removeOldBackups } from '../../../src/features/backup/backup-folder.ts'
import { backup } from '../../../src/features/backup/feature.ts'
import { verifyScheduledBackup, writeScheduledBackup } from '../../../src/features/backup/scheduled-backup.ts'
import { scheduleOf } from '../../../src/features/backup/settings.ts'
import { backupGauges } from '../../../src/features/backup/state.ts'
import { DAY, HOUR } from '../../../src/kit/time.ts'
import { makeFacts } from '../../../src/program/frame/findings/facts.ts'
import { findStatus } from '../../../src/program/frame/findings/status-report.ts'
import { openRig, useRig } from '../../core/mirror/rig.ts'
import { readConfig } from '../../kit/config.ts'
import { openForAll } from '../../kit/open-for.ts'
import { canMount, openSmallDisk } from '../../kit/small-disk.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { diagnose } from '../../program/doctor/rig.ts'

const { signal } = new AbortController()
const START = Date.UTC(2024, 0, 31, 6)

describe('scheduled backups', () => {
  const folder = openForAll(() => openTempDir('backups'))
  const rig = openForAll(() => {
    dir = join(folder.path, 'backups')
    const env = { MUSETTE_BACKUP_DIR: dir, MUSETTE_BACKUP_EVERY: '1h', MUSETTE_BACKUP_KEEP: '3' }
    // Without a key file, no key lies beside the backups.
    const key = { MUSETTE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64') }
    return openRig({ activities: 2, env: { ...env, ...key } })
  })
  let dir: string
  let line: string
  beforeAll(async () => {
    line = (await rig.app.store.read(findIdentity)).line
  })

  const own = (time: string) => `musette-${time}-${line.slice(0, 8)}.tar`
  const at = (hours: number) => ({ now: () => new Date(START + hours * HOUR), signal })
  const backUpAt = async (hours: number) => (await writeScheduledBackup(rig.app, at(hours)))?.counts
  const runs = (resource = 'backup') =>
    rig.sql`select kind, outcome, error_code, bytes from training.sync_runs where resource = ${resource} order by run_id`
  const status = async () => (await findStatus(rig.app)).features.backup

  it('are named by time, have a row, and are made once across restarts and processes', async () => {
    const made = await backUpAt(0)
    const done = { kind: 'schedule', outcome: 'done', error_code: null, bytes: String(made?.bytes) }
    expect(await backUpAt(0.4)).toBeUndefined()
    expect(await withExclusiveWork(rig.app.store, 'backup', () => backUpAt(5))).toBeUndefined()
    expect([await readdir(dir), (await stat(dir)).mode & 0o777]).toEqual([[own('20240131T060000Z')], 0o700])
    expect(await runs()).toEqual([done])
    expect(await diagnose('backups', rig.app)).toMatchObject([
      { state: 'ok', found: expect.stringMatching(/made .* ago, \d+ kB; none has been restored/) },
    ])
  })

  it('are kept up to the configured number; other files stay', async () => {
    const part = '01234567-89ab-cdef-0123-456789abcdef.part'
    const mine = [`holiday.tar.${part}`, 'musette-before-the-move.tar']
    const ahead = [own('20280101T000000Z'), own('20280102T000000Z')]
    for (const name of [...mine, ...ahead]) await writeFile(join(dir, name), 'mine, or of a wrong clock')
    await writeFile(join(dir, `${own('20230101T000000Z')}.${part}`), 'left by a process that was killed')
    for (const hours of [1, 2, 3]) await backUpAt(hours)
    expect(rig.log.lines.at(-1)).toMatchObject({ level: 'warn', files: ahead.toReversed() })
    const kept = ['20240131T070000Z', '20240131T080000Z', '20240131T090000Z'].map(own)
    expect(await readdir(dir)).toEqual([...mine, ...kept, ...ahead].sort())
    expect(await status()).toMatchObject({ file: join(dir, own('20240131T090000Z')) })
    for (const name of [...mine, ...ahead]) await rm(join(dir, name))
  })

  it('neither remove, count nor verify the backups of other databases', async () => {
    const others = [
      ...['musette-20230101T000000Z-00000000.tar', 'musette-20240131T093000Z-00000000.tar'],
      ...['musette-20230101T000000Z.tar', 'musette-20300101T000000Z-00000000.tar'],
      'musette-20230101T000000Z-00000000.tar.01234567-89ab-cdef-0123-456789abcdef.part',
    ].sort()
    for (const name of others) await writeFile(join(dir, name), 'of another database')
    expect(await status()).toMatchObject({ file: join(dir, own('20240131T090000Z')) })
    // A foreign backup is younger than half the interval, but does not count for this database.
    await backUpAt(3.6)
    const names = await readdir(dir)
    expect(names).toEqual(expect.arrayContaining(others))
    expect(names.filter((name) => name.includes(line.slice(0, 8)))).toHaveLength(3)
    expect(rig.log.lines.at(-1)).toMatchObject({ level: 'warn', files: 4 })
    expect((await findStatus(rig.app)).shared_folders).toMatchObject([
      { setting: 'MUSETTE_BACKUP_DIR', found: expect.stringContaining('4 backups'), unused: false },
    ])
    for (const name of others) await rm(join(dir, name))
  })

  it('are restored and compared once a week, as doctor and status show', async () => {
    const verifyAt = async (days: number) => {
      const now = () => new Date(Date.now() + days * DAY)
      return (await verifyScheduledBackup(rig.app, { now, signal }))?.counts
    }
    const done = await verifyAt(0)
    expect(done?.rows).toBeGreaterThan(5)
    const row = { kind: 'schedule', outcome: 'done', error_code: null, bytes: String(done?.bytes) }
    expect(await runs('backup-verify')).toEqual([row])
    expect(await verifyAt(6)).toBeUndefined()
    expect(await status()).toMatchObject({ problem: null, verified_at: expect.any(Date) })
    expect(await diagnose('backups', rig.app)).toMatchObject([
      { state: 'ok', found: expect.stringMatching(/; one was restored and compared .* ago$/) },
    ])
    const [gauges] = await backupGauges.read(makeFacts(rig.app, new Date()))
    expect(gauges?.values).toMatchObject({
      musette_backup_age_seconds: expect.any(Date),
      musette_backup_seconds: expect.any(Number),
      musette_backup_bytes: done?.bytes,
      musette_backup_failed: false,
      musette_backup_verified_age_seconds: expect.any(Date),
      musette_backup_verify_failed: false,
    })

    const newest = join(dir, own('20240131T093600Z'))
    const whole = await readFile(newest)
    await writeFile(newest, 'no archive')
    expect(await diagnose('backups', rig.app)).toMatchObject([
      { state: 'problem', found: expect.stringContaining(`${newest} cannot be read`) },
    ])
    const flipped = Buffer.from(whole)
    flipped[whole.length >> 1] = (flipped[whole.length >> 1] as number) ^ 1
    await writeFile(newest, flipped)
    await expect(verifyAt(7)).rejects.toMatchObject({ code: 'backup_damaged' })
    const failed = { outcome: 'failed', error_code: 'backup_damaged' }
    expect((await runs('backup-verify')).at(-1)).toMatchObject(failed)
    const problem = expect.stringContaining(
      'the last restore and comparison of a backup failed (the backup is damaged',
    )
    expect(await status()).toMatchObject({ code: 'backup_unproved', problem })
    await writeFile(newest, whole)
    // After a failure, a comparison on the next day is not too early.
    expect(await verifyAt(1)).toMatchObject({ bytes: whole.length })
  })

  it('remove no old backup if they fail', async () => {
    const before = await readdir(dir)
    const config = readConfig({ MUSETTE_BACKUP_DIR: join(dir, own('20240131T090000Z')) })
    const failing = writeScheduledBackup({ ...rig.app, config }, at(9))
    await expect(failing).rejects.toMatchObject({ code: 'backup_file' })
    expect(await readdir(dir)).toEqual(before)
    expect((await runs()).at(-1)).toMatchObject({ outcome: 'failed', error_code: 'backup_file', bytes: null })
  })

  it.each(['000', '022', '077'])(
    'are readable by their owner only, like a new folder, under umask %s',
    async (octal) => {
      await rm(dir, { recursive: true })
      const umask = process.umask(octal)
      try {
        await backUpAt(9)
      } finally {
        process.umask(umask)
      }
      const name = own('20240131T150000Z')
      expect(await readdir(dir)).toEqual([name])
      const modes = [dir, join(dir, name)].map(async (path) => (await stat(path)).mode & 0o777)
      expect(await Promise.all(modes)).toEqual([0o700, 0o600])
    },
  )

  it('neither replace nor remove a file behind a link, whatever its name', async () => {
    const victim = join(folder.path, 'victim')
    await writeFile(victim, 'of somebody else')
    const part = '01234567-89ab-cdef-0123-456789abcdef.part'
    const links = ['20230101T000000Z', '20230102T000000Z', '20230103T000000Z'].map(own)
    links.push(`${own('20230101T000000Z')}.${part}`)
    for (const name of [...links, own('20240131T180000Z')]) await symlink(victim, join(dir, name))
    await backUpAt(12)
    expect(await readFile(victim, 'utf8')).toBe('of somebody else')
    expect((await lstat(join(dir, own('20240131T180000Z')))).isFile()).toBe(true)
    expect(await readdir(dir)).toEqual(expect.arrayContaining(links))
    expect(await status()).toMatchObject({ file: join(dir, own('20240131T180000Z')) })
  })

  it.runIf(canMount())('are removed once too old, even if one of them cannot be removed', async () => {
    const [stuck = '', other = ''] = ['20230102T000000Z', '20230101T000000Z'].map((time) =>
      join(dir, own(time)),
    )
    for (const path of [stuck, other]) await rm(path).then(() => writeFile(path, 'old'))
    execFileSync('mount', ['--bind', stuck, stuck])
    onTestFinished(() => void execFileSync('umount', [stuck]))
    await expect(
      removeOldBackups({ dir, line }, { keep: 1, madeAt: new Date(START + 12 * HOUR) }),
    ).rejects.toMatchObject({ code: 'backup_file' })
    expect(await readdir(dir)).toContain(basename(stuck))
    expect(await readdir(dir)).not.toContain(basename(other))
  })
})

describe('default backups', () => {
  const rig = useRig({ activities: 1 })
  let dir: string
  let beganAt: number
  const embedded = (env: Record<string, string> = {}) => ({
    ...rig.app,
    config: readConfig({ MUSETTE_DATA_DIR: rig.dataDir, ...env }),
  })
  const at = (days: number) => ({ now: () => new Date(beganAt + days * DAY), signal })
  const runJob = async (app: ReturnType<typeof embedded>, days: number) =>
    backup.jobs?.['back-up']?.run({ ...app, mirror: { ...app.mirror, now: at(days).now } }, {
      signal,
      startedAt: new Date(),
    } as never)
  const names = () => readdir(dir).then((all) => all.sort())
  beforeAll(async () => {
    dir = join(rig.dataDir, 'backups')
    beganAt = (await rig.app.store.read(findIdentity)).lineBeganAt.getTime()
  })

  it.each([
    [{}, { dir: 'backups', everyMs: 7 * DAY, keep: 2, looks: DAY, compares: undefined }],
    [{ MUSETTE_BACKUP_EVERY: '1d' }, { dir: 'backups', everyMs: DAY, keep: 2, looks: DAY }],
    [{ MUSETTE_BACKUP_DIR: 'off' }, { dir: undefined, looks: undefined, compares: undefined }],
    [{ MUSETTE_BACKUP_DIR: 'own' }, { dir: 'own', everyMs: DAY, keep: 7, looks: DAY, compares: DAY }],
    [{ DATABASE_URL: 'postgres://u@h/d' }, { dir: undefined, looks: undefined, compares: undefined }],
    [
      { DATABASE_URL: 'postgres://u@h/d', MUSETTE_BACKUP_DIR: 'own', MUSETTE_BACKUP_EVERY: '30d' },
      { dir: 'own', everyMs: 30 * DAY, keep: 7, looks: DAY, compares: DAY },
    ],
  ])('with %o are %o', async (env, expected) => {
    const { config } = embedded(env)
    const found = scheduleOf(config)
    const looks = await backup.jobs?.['back-up']?.every(config)
    const compares = await backup.jobs?.['verify-backup']?.every(config)
    expect({ ...found, dir: found.dir && basename(found.dir), looks, compares }).toMatchObject(expected)
  })

  it('are made weekly after the first half day, compared at once, and announced once', async () => {
    const app = embedded()
    const run = (days: number) => runJob(app, days)
    const told = () => rig.log.lines.filter(({ msg }) => String(msg).startsWith('made the first backup'))
    expect(await run(0.4)).toBeUndefined()
    expect(await diagnose('backups', app)).toMatchObject([
      { state: 'ok', found: expect.stringContaining('when the mirror is a day old') },
    ])
    expect(await run(0.6)).toMatchObject({ counts: { rows: expect.any(Number) } })
    expect(told()).toMatchObject([
      { path: join(dir, (await names())[0] ?? ''), size: expect.stringMatching(/B$/) },
    ])
    expect(told()[0]?.msg).toContain('MUSETTE_BACKUP_DIR=off')
    const verified = () => rig.rows("select outcome from training.sync_runs where resource = 'backup-verify'")
    expect(await verified()).toEqual([{ outcome: 'done' }])
    const [state, note] = await diagnose('backups', app)
    expect(state).toMatchObject({ state: 'ok' })
    expect(note).toMatchObject({ state: 'calm', run: 'musette key export' })
    expect(note?.found).toContain('are on one disk, and are lost or stolen together')
    // Each backup is compared, even if another one was compared in the same week.
    await runJob(embedded({ MUSETTE_BACKUP_EVERY: '1d' }), 1.8)
    expect(await verified()).toHaveLength(2)
    for (const days of [2, 6, 8.4]) await run(days)
    expect(await names()).toHaveLength(2)
    expect(await verified()).toHaveLength(3)
    // No backup is removed while the newest one could not be restored.
    await rig.rows("update training.sync_runs set outcome = 'failed' where resource = 'backup-verify'")
    await writeScheduledBackup(app, at(15))
    expect(await names()).toHaveLength(3)
    await rig.rows("update training.sync_runs set outcome = 'done' where resource = 'backup-verify'")
    await writeScheduledBackup(app, at(23))
    expect(await names()).toHaveLength(2)
    expect(told()).toHaveLength(1)
  }, 120_000)

  it.runIf(canMount())('only log a warning if the file and its comparison lack room', async () => {
    const small = await openSmallDisk(100)
    const app = embedded({ MUSETTE_DATA_DIR: small })
    expect(await runJob(app, 40)).toBeUndefined()
    expect(rig.log.lines.at(-1)).toMatchObject({
      level: 'warn',
      msg: expect.stringContaining(' free, but a verified backup needs up to '),
    })
    const found = expect.stringContaining('a verified backup needs up to')
    const warning = { state: 'warning', found, run: `df -h ${small}/backups` }
    expect(await diagnose('backups', app)).toMatchObject([warning])
    expect(await readdir(join(small, 'backups'))).toEqual([])
  })
})
