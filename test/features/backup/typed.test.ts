import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { formatPaperKey } from '../../../src/core/vault/paper-key.ts'
import { openMade } from '../../embedded/made.ts'
import { eventually } from '../../kit/eventually.ts'
import { openOlderDatabase } from '../../kit/later-migrations.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { distPath } from '../../kit/processes.ts'
import { canMount, fillDisk, openSmallDisk } from '../../kit/small-disk.ts'
import { startOnTerminal } from '../../kit/terminal.ts'
import { runVerb } from '../../kit/verbs.ts'
import { doctor, openDamagedCopy, openSignedIn, type, typeVerb } from '../../program/doctor/rig.ts'

const rig = openForAll(openSignedIn)

it('damage found by a backup is reported by doctor with its table and the remedy', async () => {
  const dir = join(rig.dataDir, 'newest')
  await mkdir(dir)
  const archive = join(dir, 'musette-20260131T060000Z-00000000.tar')
  expect(await rig.musette(['backup', archive])).toMatchObject({ code: 0 })
  const damaged = await openDamagedCopy(rig.databaseUrl, 'training.raw_documents')
  const env = { ...rig.env, DATABASE_URL: damaged, MUSETTE_BACKUP_DIR: dir }
  expect((await doctor(rig, env)).of('database').map(({ state }) => state)).toEqual(['ok'])
  const backup = await rig.musette(['backup', join(rig.dataDir, 'damaged.tar')], { env })
  expect(backup.code).toBe(1)
  expect(backup.stderr).toMatch(
    /the database is damaged: invalid page in block 0 of relation .*run: musette doctor/,
  )
  const looked = await typeVerb('musette doctor', backup.stderr, { env })
  expect(looked).toMatchObject({ code: 1, stdout: expect.stringContaining('training.raw_documents (') })
  const found = (await doctor(rig, env)).of('database')
  expect(found).toMatchObject([{ state: 'problem' }])
  expect(found[0]?.found).toMatch(
    /^the disk gave the server \d+ damaged pages, the last on 20.* UTC; training.raw_documents \(/,
  )
  expect(found[0]?.found).not.toContain('training.activities')
  const empty = await openTestDatabase({ migrated: false })
  onTestFinished(() => empty.close())
  const restored = { ...rig.env, DATABASE_URL: empty.url }
  expect(found[0]?.run).toBe(`musette restore ${archive}`)
  const done = await typeVerb('musette restore', found[0]?.run, { env: restored })
  expect(done).toMatchObject({ code: 0 })
  expect((await doctor(rig, restored)).of('database').map(({ found }) => found)).not.toContain(
    found[0]?.found,
  )
})

it('the remedy for damaged files restores the newest backup, or starts empty without one', async () => {
  const made = await openForTest(openMade())
  await truncate(join(made.path, 'postgres/global/pg_control'), 100)
  const env = { MUSETTE_DATA_DIR: made.path, MUSETTE_BASE_URL: rig.env.MUSETTE_BASE_URL ?? '' }
  const without = await runVerb(['status'], { env })
  expect(without).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the backup folder has no backup'),
  })
  expect(without.stderr).toMatch(/run: mv \S+ \S+ && musette login\n$/)
  const backups = join(made.path, 'backups')
  await mkdir(backups)
  for (const name of ['musette-20240131T060000Z-00000000.tar', 'musette-20250131T060000Z-00000000.tar'])
    expect(await rig.musette(['backup', join(backups, name)])).toMatchObject({ code: 0 })
  await writeFile(join(backups, 'musette-20240131T060000Z-00000000.tar'), 'an older one')
  const damaged = await runVerb(['status'], { env })
  expect(damaged.stderr).toMatch(/is damaged: .*; restore the newest backup; run: mv /)
  await type('mv ${', damaged.stderr, { env })
  const accounts = await runVerb(['accounts'], { env })
  expect(accounts).toMatchObject({ code: 0, stdout: expect.stringContaining('default') })
  expect(await readdir(made.path)).toContain('postgres.damaged')
})

it('doctor reports a folder with backups from before a restore', async () => {
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

it('after a new key the printed command makes a backup', async () => {
  const typing = { env: rig.env, cwd: rig.dataDir }
  const { stdout } = await rig.musette(['key', 'rotate'])
  const made = await typeVerb('musette backup', stdout, { ...typing, fill: { FILE: 'new.tar' } })
  expect(made).toMatchObject({ code: 0 })
  expect(await rig.musette(['backup', '--verify', 'new.tar'])).toMatchObject({ code: 0 })
})

it('a backup of unknown tables is refused with the name of the right version', async () => {
  const later = `insert into musette.migrations (hash, created_at, musette) values ('later', 9999999999999, '9.8.7')`
  for (const [open, change, sentence] of [
    [() => openTestDatabase(), later, 'was made by a newer musette, 9.8.7; install that version'],
    [
      () => openOlderDatabase('0016_fit_records'),
      "update musette.migrations set musette = '0.0.9'",
      'back it up with musette 0.0.9 or with pg_dump, or first run: musette migrate',
    ],
  ] as const) {
    const { url, close } = await open()
    onTestFinished(close)
    await queryOnce(url, change)
    const file = join(rig.dataDir, 'unknown.tar')
    const refused = await rig.musette(['backup', file], { env: { DATABASE_URL: url } })
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) })
    expect(existsSync(file)).toBe(false)
  }
})

it.runIf(canMount())(
  'a backup on a full disk exits 4 and leaves only the older file',
  async () => {
    const disk = await openSmallDisk(1)
    const path = join(disk, 'mirror.tar')
    await writeFile(path, 'the older backup')
    await fillDisk(disk, 32_768)
    const { code, stderr } = await rig.musette(['backup', path])
    expect(stderr).toContain(`${path} cannot be written: the disk is full (ENOSPC)`)
    expect(code).toBe(4)
    expect(await readFile(path, 'utf8')).toBe('the older backup')
    expect((await readdir(disk)).sort()).toEqual(['.filler', 'mirror.tar'])
  },
  180_000,
)

it('a restore on a terminal shows its progress in rows and asks for the paper key', async () => {
  const onTerminal = (args: string[], more: Record<string, string> = {}) =>
    startOnTerminal([distPath('main.js'), ...args], {
      cwd: rig.dataDir,
      env: { ...rig.env, ...more },
      columns: 200,
    })
  const file = join(rig.dataDir, 'terminal.tar')
  const made = await onTerminal(['backup', file]).finished
  expect(made.code, made.screen).toBe(0)
  expect(made.screen).toMatch(/backing up rows: ([1-9][\d,]*) of \1,[^\n]*\n.*tables with/)
  const target = await openTestDatabase({ migrated: false })
  onTestFinished(() => target.close())
  const dataDir = join(rig.dataDir, 'bare')
  const env = { DATABASE_URL: target.url, MUSETTE_DATA_DIR: dataDir }
  const running = onTerminal(['restore', file], env)
  const shows = (text: string) => eventually(async () => running.screen().includes(text))
  await shows('The 17 groups of the key')
  const key = Buffer.from(await readFile(join(rig.dataDir, 'secret.key'), 'utf8'), 'base64')
  const typed = formatPaperKey(key)
    .map((line) => line.slice(4))
    .join(' ')
  const last = Number(typed.slice(-1))
  running.press(`${typed.slice(0, -1)}${(last + 1) % 10}\r`)
  await shows('group 17 has a typing error')
  running.press(`\x7f${last}\r`)
  const { code, screen } = await running.finished
  expect(code, screen).toBe(0)
  expect(screen).toMatch(/restoring rows: ([1-9][\d,]*) of \1,[^\n]*\n.*tables with/)
  expect(screen).toContain(`is in ${dataDir}/secret.key`)
  expect(await rig.musette(['sync'], { env })).toMatchObject({ code: 0 })
}, 180_000)
