import { execFileSync } from 'node:child_process'
import { chmodSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { chown, mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openForTest } from '../../kit/open-for.ts'
import { makeRide } from '../../kit/ride.ts'
import { whole } from '../../kit/sampling.ts'
import { startSwapping } from '../../kit/swapping.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { listAll, openRig } from './rig.ts'

const RIDE = makeRide()
const JUNK = Buffer.from('this is no FIT file, and long enough')
const MONTH = new Date(Date.now() + 60_000).toISOString().slice(0, 7)
const MOVING = '.moving-0123456789abcdef-ride.fit'

/** Makes a private folder of another user, with file names that musette uses. */
async function openVictim(names: readonly string[] = ['secret.fit', 'ride.fit', MOVING, `${MONTH}.fit`]) {
  const { path } = await openForTest(openTempDir('victim'))
  await mkdir(join(path, MONTH))
  for (const name of names) await writeFile(join(path, name), `${name} of somebody else`, { mode: 0o600 })
  const read = () =>
    readdirSync(path, { withFileTypes: true }).map((entry) => {
      const { mode, nlink } = lstatSync(join(path, entry.name))
      const text = entry.isFile()
        ? readFileSync(join(path, entry.name), 'utf8')
        : readdirSync(join(path, entry.name))
      return { name: entry.name, mode, nlink, text }
    })
  return { path, read, before: read() }
}

/** The folders that a finished file passes through, and a file for each. */
const STEPS: ReadonlyArray<[step: string, file: string, bytes: Uint8Array]> = [
  ['done', 'ride.fit', RIDE],
  [`done/${MONTH}`, 'ride.fit', RIDE],
  ['failed', 'ride.fit', JUNK],
  ['anna/failed', 'anna/2026/ride.fit', JUNK],
]
const OBSTACLES: ReadonlyArray<
  [what: string, plant: (path: string, victim: string) => unknown, run: string]
> = [
  ['a link', (path, victim) => symlink(victim, path), 'rm PATH'],
  ['a file', (path) => writeFile(path, 'of a person'), 'mv PATH PATH.old'],
  ['a pipe', (path) => execFileSync('/usr/bin/env', ['mkfifo', path]), 'mv PATH PATH.old'],
]

describe.each(STEPS)('in place of %s', (step, file, bytes) => {
  it.each(OBSTACLES)(
    '%s keeps a finished file where it is until the command is run',
    async (_, plant, command) => {
      const victim = await openVictim()
      const rig = await openRig({
        accounts: async () => ['default', 'anna'],
        before: async (dir) => {
          await mkdir(join(dir, dirname(step)), { recursive: true })
          await plant(join(dir, step), victim.path)
        },
      })
      await rig.drop(file, bytes)
      await rig.folder.scan()
      expect(rig.imported).toHaveLength(1)
      expect(listAll(rig.dir)).toContain(file)
      const [, run = ''] = rig.problem()?.split('; run: ') ?? []
      expect(run).toBe(command.replaceAll('PATH', join(rig.dir, step)))
      execFileSync('sh', ['-c', run])
      await rig.folder.scan()
      expect(listAll(rig.dir)).not.toContain(file)
      expect(listAll(join(rig.dir, step)).join()).toContain('ride.fit')
      expect(victim.read()).toEqual(victim.before)
    },
  )

  it.skipIf(process.getuid?.() !== 0)('a folder of another user is used as it is', async () => {
    const rig = await openRig({
      accounts: async () => ['default', 'anna'],
      before: async (dir) => {
        await mkdir(join(dir, step), { recursive: true })
        chmodSync(join(dir, step), 0o750)
        await chown(join(dir, step), 65_534, 65_534)
      },
    })
    await rig.drop(file, bytes)
    expect(listAll(join(rig.dir, step)).join()).toContain('ride.fit')
    const { uid, mode } = statSync(join(rig.dir, step))
    expect([uid, mode & 0o7777]).toEqual([65_534, 0o750])
  })
})

it('moves never reach behind a link that replaces their folder', async () => {
  const names = Array.from({ length: whole ? 900 : 200 }, (_, i) => `ride-${i}.fit`)
  const victim = await openVictim(names)
  const rig = await openRig({
    concurrency: 8,
    accounts: async () => ['anna'],
    importFile: async () => ({ action: 'failed', text: 'why' }),
  })
  const anna = join(rig.dir, 'anna')
  for (const name of ['s', 'failed']) await mkdir(join(anna, name), { recursive: true })
  for (const name of names) await writeFile(join(anna, 's', name), JUNK)
  await symlink(victim.path, join(anna, 'link'))
  const countMoved = () => readdirSync(join(anna, 'failed')).filter((name) => name.endsWith('.fit')).length
  const swapping = await startSwapping(join(anna, 's'), join(anna, 'link'))
  for (let round = 0; round < 40 && countMoved() < names.length; round++) await rig.folder.scan()
  await swapping.close()
  expect(victim.read()).toEqual(victim.before)
  await rig.folder.scan()
  await rig.folder.scan()
  const texts = names.map((name) => readFileSync(join(anna, 'failed', name), 'utf8'))
  expect(new Set(texts)).toEqual(new Set([String(JUNK)]))
  expect(victim.read()).toEqual(victim.before)
})

it('a hidden file stays if its name only resembles that of a move', async () => {
  const names = ['.moving-house.fit', '.moving-0123456789abcde-ride.fit', '.moving-0123456789ABCDEF-ride.fit']
  const rig = await openRig({
    before: async (dir) => {
      await mkdir(join(dir, 'failed'))
      for (const name of names) await writeFile(join(dir, 'failed', name), RIDE)
    },
  })
  await rig.folder.scan()
  expect(rig.imported).toEqual([])
  expect(readdirSync(join(rig.dir, 'failed')).sort()).toEqual([...names].sort())
})

describe.each(['000', '022', '077'])('under umask %s', (umask) => {
  it.each(['700', '755', '2770'])(
    'folders created in a drop folder of mode %s get its mode',
    async (octal) => {
      const mode = Number.parseInt(octal, 8)
      const before = process.umask(umask)
      onTestFinished(() => void process.umask(before))
      const rig = await openRig({ before: async (dir) => chmodSync(dir, mode) })
      await rig.drop('ride.fit', RIDE)
      await rig.drop('other.fit', JUNK)
      const modeOf = (path: string) => statSync(join(rig.dir, path)).mode & 0o7777
      for (const path of ['.', 'done', `done/${MONTH}`, 'failed'])
        expect([path, modeOf(path)]).toEqual([path, mode])
      expect(modeOf('failed/other.fit.txt')).toBe(0o644)
    },
  )

  it('a new drop folder is private to its owner', async () => {
    const before = process.umask(umask)
    onTestFinished(() => void process.umask(before))
    const { path } = await openForTest(openTempDir('new'))
    await openRig({ dir: join(path, 'a', 'drop') })
    for (const name of ['a', 'a/drop']) expect(statSync(join(path, name)).mode & 0o7777).toBe(0o700)
  })
})
