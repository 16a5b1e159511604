import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findIdentity } from '../../../src/core/store/database-facts.ts'
import { withExclusiveWork } from '../../../src/core/store/store.ts'
import { readNewestBackup } from '../../../src/features/backup/backup-folder.ts'
import { backup } from '../../../src/features/backup/feature.ts'
import { verifyScheduledBackup, writeScheduledBackup } from '../../../src/features/backup/scheduled-backup.ts'
import { backupSettings, scheduleOf } from '../../../src/features/backup/settings.ts'
import { DAY, HOUR } from '../../../src/kit/time.ts'
import { type Daemon, openDaemon } from '../../../src/program/daemon/daemon.ts'
import { collectFindings } from '../../../src/program/frame/findings/collect-findings.ts'
import { makeFacts } from '../../../src/program/frame/findings/facts.ts'
import { findStatus } from '../../../src/program/frame/findings/status-report.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { readConfig, withSettings } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { openTestDatabase } from '../../kit/postgres.ts'
import { canMount, openSmallDisk } from '../../kit/small-disk.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { diagnose } from '../../program/doctor/rig.ts'
import { parseMetrics } from '../../program/web/rig.ts'
import { contentOf, restoreInto } from './rig.ts'

const START = Date.UTC(2024, 0, 31, 6)

describe('scheduled backups', () => {
  let rig: Rig
  let folder: TempDir
  let dir: string
  let line: string
  let daemon: Daemon | undefined
  beforeAll(async () => {
    folder = await openTempDir('backups')
    dir = join(folder.path, 'backups')
    const env = { MUSETTE_BACKUP_DIR: dir, MUSETTE_BACKUP_EVERY: '1h', MUSETTE_BACKUP_KEEP: '3' }
    // Without a key file none lies beside the backups.
    const key = { MUSETTE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64') }
    rig = await openRig({ activities: 2, env: { ...env, ...key, MUSETTE_HTTP: '127.0.0.1:0' } })
    line = (await rig.app.store.read(findIdentity)).line
  })
  afterAll(async () => {
    await daemon?.close()
    await rig?.close()
    await folder?.close()
  })

  const own = (time: string) => `musette-${time}-${line.slice(0, 8)}.tar`
  const backUpAt = async (hours: number) => {
    const now = () => new Date(START + hours * HOUR)
    const signal = new AbortController().signal
    return (await writeScheduledBackup(rig.app, { now, signal }))?.counts
  }
  const runs = () =>
    rig.rows(
      "select kind, outcome, error_code, bytes from training.sync_runs where resource = 'backup' order by run_id",
    )

  it('are complete archives named by time, with a row and their size', async () => {
    expect(await diagnose('backups', rig.app)).toMatchObject([{ state: 'warning', run: 'musette start' }])
    const made = await backUpAt(0)
    expect(await readdir(dir)).toEqual([own('20240131T060000Z')])
    expect(await runs()).toEqual([
      { kind: 'schedule', outcome: 'done', error_code: null, bytes: String(made?.bytes) },
    ])
    expect(await diagnose('backups', rig.app)).toMatchObject([
      { state: 'ok', found: expect.stringMatching(/made .* ago, \d+ kB; none was restored/) },
    ])
    const target = await openTestDatabase()
    await restoreInto(target.url, await readFile(join(dir, own('20240131T060000Z'))))
    const [restored, source] = [await contentOf(target.url), await contentOf(rig.databaseUrl)]
    expect(restored['training.accounts']).toEqual(source['training.accounts'])
    await target.close()
  })

  it('are not repeated at a restart, nor made by two processes at once', async () => {
    expect(await backUpAt(0.4)).toBeUndefined()
    const other = withExclusiveWork(rig.app.store, 'backup', () => backUpAt(5))
    expect(await other).toBeUndefined()
    expect(await runs()).toHaveLength(1)
  })

  it('are kept up to their number; other files stay', async () => {
    const part = `${own('20230101T000000Z')}.01234567-89ab-cdef-0123-456789abcdef.part`
    await writeFile(join(dir, 'musette-before-the-move.tar'), 'mine')
    await writeFile(join(dir, 'holiday.tar.01234567-89ab-cdef-0123-456789abcdef.part'), 'mine')
    await writeFile(join(dir, part), 'left by a process that was killed')
    for (const hours of [1, 2, 3, 4]) await backUpAt(hours)
    expect(await readdir(dir)).toEqual([
      'holiday.tar.01234567-89ab-cdef-0123-456789abcdef.part',
      own('20240131T080000Z'),
      own('20240131T090000Z'),
      own('20240131T100000Z'),
      'musette-before-the-move.tar',
    ])
  })

  it('of other databases are not removed, counted or verified', async () => {
    const others = [
      ...['musette-20230101T000000Z-00000000.tar', 'musette-20240131T103000Z-00000000.tar'],
      ...['musette-20230101T000000Z.tar', 'musette-20300101T000000Z-00000000.tar'],
      'musette-20230101T000000Z-00000000.tar.01234567-89ab-cdef-0123-456789abcdef.part',
    ].sort()
    for (const name of others) await writeFile(join(dir, name), 'of another database')
    const newest = (await readNewestBackup({ dir, line }))?.path
    expect((await findStatus(rig.app)).features.backup).toMatchObject({ file: newest })
    expect(newest).toContain(own('20240131T100000Z'))
    // One of them is younger than half of the interval, and stands for none of this database.
    await backUpAt(4.6)
    const names = await readdir(dir)
    expect(names).toEqual(expect.arrayContaining(others))
    expect(names.filter((name) => name.includes(line.slice(0, 8)))).toHaveLength(3)
    expect(rig.log.lines.at(-1)).toMatchObject({ level: 'warn', files: 4 })
    const { shared_folders } = await findStatus(rig.app)
    expect(shared_folders).toMatchObject([
      { setting: 'MUSETTE_BACKUP_DIR', found: expect.stringContaining('4 backups'), unused: false },
    ])
    for (const name of others) await rm(join(dir, name))
    await rm(join(dir, own('20240131T103600Z')))
  })

  it('that were just written stay, even with names in the future, which are reported', async () => {
    const ahead = [own('20280101T000000Z'), own('20280102T000000Z'), own('20280103T000000Z')]
    for (const name of ahead) await writeFile(join(dir, name), 'made while the clock was ahead')
    await backUpAt(5)
    const names = await readdir(dir)
    expect(names.filter((name) => /^musette-2/.test(name))).toEqual([
      own('20240131T090000Z'),
      own('20240131T100000Z'),
      own('20240131T110000Z'),
      ...ahead,
    ])
    expect(rig.log.lines.at(-1)).toMatchObject({ level: 'warn', files: ahead.toReversed() })
    for (const name of ahead) await rm(join(dir, name))
  })

  it('that are damaged or missing are shown by doctor and status, whatever the table says', async () => {
    const newest = join(dir, own('20240131T110000Z'))
    const whole = await readFile(newest)
    await writeFile(newest, 'no archive')
    expect(await diagnose('backups', rig.app)).toMatchObject([
      { state: 'problem', found: expect.stringContaining(`${own('20240131T110000Z')} cannot be read`) },
    ])
    const elsewhere = join(folder.path, 'elsewhere')
    await rename(dir, elsewhere)
    await mkdir(dir)
    const gone = /the folder holds no backup of this database, although one was made at/
    expect(await diagnose('backups', rig.app)).toMatchObject([
      { state: 'problem', found: expect.stringMatching(gone) },
    ])
    expect((await findStatus(rig.app)).features.backup).toMatchObject({
      done_at: null,
      bytes: null,
      problem: expect.stringMatching(gone),
    })
    await rm(dir, { recursive: true })
    await rename(elsewhere, dir)
    await writeFile(newest, whole)
    expect(await diagnose('backups', rig.app)).toMatchObject([{ state: 'ok' }])
  })

  it('are restored and compared once a week, as doctor and status show', async () => {
    const verifyAt = async (days: number) => {
      const now = () => new Date(Date.now() + days * DAY)
      const signal = new AbortController().signal
      return (await verifyScheduledBackup(rig.app, { now, signal }))?.counts
    }
    const compared = () =>
      rig.rows(
        "select kind, outcome, error_code, bytes from training.sync_runs where resource = 'backup-verify' order by run_id",
      )
    expect((await findStatus(rig.app)).features.backup).toMatchObject({ problem: null, verified_at: null })
    expect(await diagnose('backups', rig.app)).toMatchObject([
      { found: expect.stringContaining('none was restored and compared') },
    ])
    const done = await verifyAt(0)
    expect(done?.rows).toBeGreaterThan(5)
    expect(await compared()).toMatchObject([
      { kind: 'schedule', outcome: 'done', bytes: String(done?.bytes) },
    ])
    expect(await verifyAt(6)).toBeUndefined()
    expect((await findStatus(rig.app)).features.backup).toMatchObject({
      problem: null,
      verified_at: expect.any(Date),
    })
    expect(await diagnose('backups', rig.app)).toMatchObject([
      { state: 'ok', found: expect.stringMatching(/; one was restored and compared .* ago$/) },
    ])

    const newest = join(dir, own('20240131T110000Z'))
    const whole = await readFile(newest)
    const flipped = Buffer.from(whole)
    flipped[whole.length >> 1] = (flipped[whole.length >> 1] as number) ^ 1
    await writeFile(newest, flipped)
    await expect(verifyAt(7)).rejects.toMatchObject({ code: 'backup_damaged' })
    expect((await compared()).at(-1)).toMatchObject({ outcome: 'failed', error_code: 'backup_damaged' })
    expect(await diagnose('backups', rig.app)).toMatchObject([
      {
        state: 'problem',
        found: expect.stringContaining('could not be (the backup is damaged'),
        run: expect.stringMatching(/^musette backup --verify .*musette-20240131T110000Z-/),
      },
    ])
    expect((await findStatus(rig.app)).features.backup).toMatchObject({
      code: 'backup_unproved',
      problem: expect.stringContaining('is damaged'),
    })
    await writeFile(newest, whole)
    // After a failure the next day's is not too early.
    expect(await verifyAt(1)).toMatchObject({ bytes: whole.length })
    const { config: asSet } = rig.app
    const seldom = { ...backupSettings.of(asSet), everyMs: 90 * DAY }
    const config = withSettings(asSet, backupSettings, seldom)
    const later = makeFacts({ ...rig.app, config }, new Date(Date.now() + 30 * DAY))
    expect(await collectFindings(later, { check: 'backups' })).toMatchObject([
      {
        rule: { code: 'backup_unproved' },
        found: expect.stringMatching(/^no backup was restored and compared for 30 d/),
      },
    ])
  })

  it('that fail leave the old ones, a row, a finding of doctor and a sentence in status', async () => {
    const before = await readdir(dir)
    const config = readConfig({ MUSETTE_BACKUP_DIR: join(dir, before[1] as string) })
    const signal = new AbortController().signal
    await expect(
      writeScheduledBackup({ ...rig.app, config }, { now: () => new Date(), signal }),
    ).rejects.toMatchObject({
      code: 'backup_file',
    })
    expect(await readdir(dir)).toEqual(before)
    expect((await runs()).at(-1)).toMatchObject({ outcome: 'failed', error_code: 'backup_file' })
    expect(await diagnose('backups', rig.app)).toMatchObject([
      {
        state: 'problem',
        found: expect.stringMatching(/the last backup failed \(.* cannot be written .*the last one was made/),
      },
    ])
    const { features } = await findStatus(rig.app)
    expect(features.backup).toMatchObject({ dir, problem: expect.stringContaining('failed') })
  })

  it('leave the job to another worker when this one has no folder', async () => {
    const config = readConfig({ MUSETTE_BACKUP_DIR: 'off' })
    const signal = new AbortController().signal
    await expect(
      writeScheduledBackup({ ...rig.app, config }, { now: () => new Date(), signal }),
    ).rejects.toMatchObject({
      code: 'backup_no_folder',
    })
  })

  it('are made by the daemon itself, and have metrics', async () => {
    for (const name of await readdir(dir)) await rm(join(dir, name))
    const { config, log } = rig.app
    const signal = new AbortController().signal
    daemon = await openDaemon(config, log, { roles: ['scheduler', 'worker', 'web'], signal })
    await eventually(async () => (await readdir(dir)).some((name) => name.endsWith('.tar')))
    const seen = await eventually(async () => {
      const metrics = parseMetrics(await (await fetch(`${daemon?.url}/metrics`)).text())
      const isYoung = (metrics.get('musette_backup_age_seconds') ?? HOUR) < 600
      // The file is there a moment before the row of its run.
      return isYoung && metrics.get('musette_backup_failed') === 0 && metrics
    })
    expect(seen.get('musette_backup_verify_failed')).toBe(0)
    expect(seen.get('musette_backup_verified_age_seconds')).toBeLessThan(HOUR)
    expect(seen.get('musette_backup_bytes')).toBeGreaterThan(10_000)
    expect(seen.get('musette_backup_seconds')).toBeGreaterThan(0)
    const overview = await (await fetch(`${daemon.url}/api/today`)).json()
    expect(overview).toMatchObject({ backup: { problem: null, bytes: seen.get('musette_backup_bytes') } })
  })
})

describe('backups by default', () => {
  let rig: Rig
  let dir: string
  let beganAt: number
  const signal = new AbortController().signal
  const embedded = (env: Record<string, string> = {}) => ({
    ...rig.app,
    config: readConfig({ MUSETTE_DATA_DIR: rig.dataDir, ...env }),
  })
  const at = (days: number) => ({ now: () => new Date(beganAt + days * DAY), signal })
  const names = () => readdir(dir).then((all) => all.sort())
  beforeAll(async () => {
    rig = await openRig({ activities: 1 })
    dir = join(rig.dataDir, 'backups')
    beganAt = (await rig.app.store.read(findIdentity)).lineBeganAt.getTime()
  })
  afterAll(() => rig?.close())

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

  it('are made once a week when the mirror is half a day old, compared at once, and told once; two stay', async () => {
    const app = embedded()
    const run = async (days: number) =>
      backup.jobs?.['back-up']?.run({ ...app, mirror: { ...app.mirror, now: at(days).now } }, {
        signal,
        startedAt: new Date(),
      } as never)
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
    for (const days of [1, 6, 7.5]) await run(days)
    expect(await names()).toHaveLength(2)
    expect(await verified()).toHaveLength(2)
    const kept = await names()
    await rig.rows("update training.sync_runs set outcome = 'failed' where resource = 'backup-verify'")
    await writeScheduledBackup(app, at(15))
    expect(await names()).toEqual([...kept, expect.any(String)])
    await verifyScheduledBackup(app, at(15))
    await writeScheduledBackup(app, at(23))
    expect(await names()).toHaveLength(2)
    expect(told()).toHaveLength(1)
  }, 120_000)

  it.runIf(canMount())('need room for the file and for its comparison, else a warning is all', async () => {
    const small = await openSmallDisk(100)
    const app = embedded({ MUSETTE_DATA_DIR: small })
    const run = () =>
      backup.jobs?.['back-up']?.run({ ...app, mirror: { ...app.mirror, now: at(40).now } }, {
        signal,
        startedAt: new Date(),
      } as never)
    expect(await run()).toBeUndefined()
    expect(rig.log.lines.at(-1)).toMatchObject({ level: 'warn', msg: expect.stringContaining('are free at') })
    expect(await diagnose('backups', app)).toMatchObject([
      {
        state: 'warning',
        found: expect.stringContaining('a verified backup needs up to'),
        run: `df -h ${small}/backups`,
      },
    ])
    expect(await readdir(join(small, 'backups'))).toEqual([])
  })
})
