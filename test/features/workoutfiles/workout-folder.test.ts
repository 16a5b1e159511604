import { execFileSync } from 'node:child_process'
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { exportWorkouts } from '../../../src/features/workoutfiles/saved-workouts.ts'
import { workoutfilesSettings } from '../../../src/features/workoutfiles/settings.ts'
import { OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { openScene, type Scene } from '../../core/mirror/training-scene.ts'
import { withSettings } from '../../kit/config.ts'
import { canFold, openFoldedDisk } from '../../kit/folded-disk.ts'
import { makeOther } from '../../kit/identity.ts'
import { openForTest } from '../../kit/open-for.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'

const MANIFEST = '.musette-workouts.json'

describe('the workout folder', () => {
  let scene: Scene
  let temp: TempDir
  let dir: string
  beforeAll(async () => {
    temp = await openTempDir('workouts')
    dir = join(temp.path, 'sub', 'workouts')
    scene = await openScene({ MUSETTE_WORKOUT_DIR: dir })
  })
  afterAll(async () => {
    await scene?.close()
    await temp?.close()
  })
  beforeEach(async () => {
    await rm(join(temp.path, 'sub'), { recursive: true, force: true })
    await scene.heal()
    scene.log.lines.length = 0
  })

  const names = async (folder = dir) =>
    (await readdir(folder)).filter((name) => name !== MANIFEST && name !== OWNER_FILE).sort()
  const text = (name: string) => readFile(join(dir, name), 'utf8')
  /** Makes this the workout of the day, and polls. */
  const poll = async (name: string) => {
    await scene.heal()
    // A response with less than the last one is not accepted.
    await scene.sql`delete from training.training_info`
    // One URL for both formats; the sandbox serves the format in the URL.
    const url = `${scene.sandboxUrl}/oauth/workout-download/own0tempo0000001.erg`
    const wotd = { type: 'Scheduled', name, workoutId: Buffer.from(name).toString('hex'), url }
    await scene.answer('^/oauth/training_info$', { success: true, wotd })
    return scene.pollInfo()
  }
  const pollNone = async () => {
    await scene.heal()
    await scene.steer('PATCH', 'settings', { wotd_type: 'None' })
    await scene.pollInfo()
  }
  const changeManifest = async (change: (manifest: Record<string, { sha256: string[] }>) => void) => {
    const manifest = JSON.parse(await text(MANIFEST))
    change(manifest)
    await writeFile(join(dir, MANIFEST), JSON.stringify(manifest))
  }

  it('holds both formats of the workout of the day, and a folder per other account', async () => {
    await scene.steer('PATCH', 'settings', { wotd_type: 'Scheduled' })
    expect(await scene.pollInfo()).toMatchObject({ failed: 0 })
    const files = await scene.sql`select format, content from training.workout_files order by format`
    const [info] = await scene.sql`select wotd_name from training.training_info`
    const found = await names()
    expect(found.map((name) => name.slice(-4))).toEqual(['.erg', '.zwo'])
    expect(await Promise.all(found.map(text))).toEqual(files.map(({ content }) => content))
    for (const name of found) expect(name).toContain(String(info?.wotd_name).slice(0, 2))
    await scene.pollInfo(await scene.signIn('second'))
    expect(await names(join(dir, 'second'))).toHaveLength(2)
    await pollNone()
    expect(await names()).toEqual(['second'])
    expect(await names(join(dir, 'second'))).toHaveLength(2)
  })

  it.each(['000', '022', '077'])(
    'is readable by everybody and writable by its owner only, under umask %s',
    async (octal) => {
      const umask = process.umask(octal)
      try {
        await poll('Ride')
        await scene.pollInfo(await scene.signIn('second'))
      } finally {
        process.umask(umask)
      }
      const look = async () => {
        const inside = await readdir(dir, { recursive: true })
        return Promise.all(['..', '.', ...inside].map((name) => stat(join(dir, name))))
      }
      const modesOf = async (isFolder: boolean) =>
        new Set(
          (await look()).filter((one) => one.isDirectory() === isFolder).map(({ mode }) => mode & 0o777),
        )
      expect(await readdir(join(dir, 'second'))).toHaveLength(3)
      expect([await modesOf(true), await modesOf(false)]).toEqual([new Set([0o755]), new Set([0o644])])
      // An unchanged poll writes nothing.
      const before = (await look()).map(({ ino, mtimeMs }) => [ino, mtimeMs])
      await scene.pollInfo()
      expect((await look()).map(({ ino, mtimeMs }) => [ino, mtimeMs])).toEqual(before)
    },
  )

  it.each([
    ['a link', (path: string, victim: string) => symlink(victim, path), 'rm PATH'],
    ['a file', (path: string) => writeFile(path, 'mine'), 'mv PATH PATH.old'],
    ['a pipe', (path: string) => execFileSync('/usr/bin/env', ['mkfifo', path]), 'mv PATH PATH.old'],
  ])('stays unwritten while %s takes its place, until the command is typed', async (_, plant, command) => {
    const victim = join(temp.path, 'sub', 'victim')
    await mkdir(victim, { recursive: true })
    await writeFile(join(victim, '.musette-0123456789ab.tmp'), 'of somebody else')
    await mkdir(dir)
    await plant(join(dir, 'second'), victim)
    await scene.steer('PATCH', 'settings', { wotd_type: 'Scheduled' })
    const second = await scene.signIn('second')
    await scene.pollInfo(second)
    const [said] = scene.log.lines.filter(({ code }) => code === 'not_a_folder')
    const run = String(said?.msg).split('; run: ')[1] ?? ''
    expect(run).toBe(command.replaceAll('PATH', join(dir, 'second')))
    execFileSync('sh', ['-c', run])
    await scene.pollInfo(second)
    expect(await names(join(dir, 'second'))).toHaveLength(2)
    expect(await readdir(victim)).toEqual(['.musette-0123456789ab.tmp'])
  })

  it('removes the files of yesterday, keeps foreign and edited files, and restores lost ones', async () => {
    await poll('Yesterday')
    await writeFile(join(dir, 'Mine.erg'), 'mine')
    await writeFile(join(dir, 'Yesterday.erg'), 'harder')
    await poll('TODAY')
    expect(await names()).toContain('TODAY.erg')
    await poll('Today')
    const kept = ['Mine.erg', 'Yesterday.erg']
    expect(await names()).toEqual(['Mine.erg', 'Today.erg', 'Today.zwo', 'Yesterday.erg'])
    await rm(join(dir, 'Today.erg'))
    await writeFile(join(dir, '.musette-0123456789ab.tmp'), 'half')
    await scene.pollInfo()
    expect(await names()).toEqual(['Mine.erg', 'Today.erg', 'Today.zwo', 'Yesterday.erg'])
    await pollNone()
    expect(await names()).toEqual(kept)
    expect(await Promise.all(kept.map(text))).toEqual(['mine', 'harder'])
  })

  it.runIf(canFold())('has the new name of a renamed workout on a case-insensitive disk', async () => {
    const disk = await openForTest(openFoldedDisk())
    await mkdir(join(temp.path, 'sub'))
    await symlink(disk.path, dir)
    for (const name of ['Normal', 'NORMAL', 'Über', 'ÜBER', 'normal']) {
      await poll(name)
      expect(await names(disk.path)).toEqual([`${name}.erg`, `${name}.zwo`])
    }
    await writeFile(join(disk.path, 'ROAD.ERG'), 'mine')
    await poll('Road')
    expect(await names(disk.path)).toEqual(['ROAD.ERG', 'Road (2).erg', 'Road.zwo'])
  })

  it('overwrites nothing foreign and touches nothing outside, with any name or manifest', async () => {
    await mkdir(join(dir, 'Ride (2).erg'), { recursive: true })
    await writeFile(join(dir, 'Ride.erg'), 'mine')
    await writeFile(join(temp.path, 'sub', 'elsewhere'), 'elsewhere')
    await symlink(join(temp.path, 'sub', 'elsewhere'), join(dir, 'Ride.zwo'))
    await poll('Ride')
    expect(await names()).toEqual(['Ride (2).erg', 'Ride (2).zwo', 'Ride (3).erg', 'Ride.erg', 'Ride.zwo'])
    await pollNone()
    expect(await names()).toEqual(['Ride (2).erg', 'Ride.erg', 'Ride.zwo'])
    expect(await Promise.all(['Ride.erg', 'Ride.zwo'].map(text))).toEqual(['mine', 'elsewhere'])
    await poll('../../../etc/\u0000pass\nwd')
    const [erg, zwo] = ['-..-..-etc-pass wd.erg', '-..-..-etc-pass wd.zwo'] as const
    expect(await names()).toEqual(expect.arrayContaining([erg, zwo]))
    await writeFile(join(temp.path, 'sub', 'out.erg'), await text(erg))
    await changeManifest((manifest) => Object.assign(manifest, { '../out.erg': manifest[erg] }))
    await pollNone()
    expect(await names(join(temp.path, 'sub'))).toEqual(['elsewhere', 'out.erg', 'workouts'])
    expect(await names(temp.path)).toEqual(['sub'])
  })

  it('recognizes our files after a crash', async () => {
    await poll('Ride')
    // The manifest as after a crash: the current content and the next one.
    await changeManifest((manifest) => manifest['Ride.erg']?.sha256.unshift('0'.repeat(64)))
    await pollNone()
    expect(await names()).toEqual([])
  })

  it('is logged once if it cannot be written, and SQL stays complete', async () => {
    await mkdir(join(temp.path, 'sub'))
    await writeFile(dir, 'a file in its place')
    expect(await poll('A new one')).toMatchObject({ fetched: 2, failed: 1 })
    expect(await scene.pollInfo()).toMatchObject({ fetched: 0, failed: 1 })
    const complaints = scene.log.lines.filter((line) => line.level === 'error')
    expect(complaints).toMatchObject([{ msg: expect.stringContaining('MUSETTE_WORKOUT_DIR') }])
    await rm(dir)
    expect(await scene.pollInfo()).toMatchObject({ failed: 0 })
    expect(await names()).toEqual(['A new one.erg', 'A new one.zwo'])
    expect(scene.log.lines.map(({ msg }) => msg)).toContain('workout folder works again')
  })

  it('is not touched if it belongs to another database, as one log line says', async () => {
    await poll('Mine')
    const before = await names()
    expect(before).toEqual(['Mine.erg', 'Mine.zwo'])
    const manifest = await text(MANIFEST)
    await makeOther(scene.databaseUrl)
    expect(await poll('Of another')).toMatchObject({ failed: 1 })
    expect(await scene.pollInfo()).toMatchObject({ failed: 1 })
    expect(await names()).toEqual(before)
    expect(await text(MANIFEST)).toBe(manifest)
    const run = `run: rm ${join(dir, OWNER_FILE)}`
    expect(scene.log.lines.filter(({ msg }) => String(msg).includes(run))).toHaveLength(1)
    const exported = { account: 'default', name: undefined, format: 'zwo', dir } as const
    const unset = { dir: undefined, holdsSaved: false }
    const elsewhere = { ...scene.app, config: withSettings(scene.app.config, workoutfilesSettings, unset) }
    await scene.pollWorkouts()
    await expect(exportWorkouts(elsewhere, exported)).rejects.toMatchObject({ code: 'folder_of_another' })
    await rm(join(dir, OWNER_FILE))
    await scene.pollInfo()
    expect(await names()).toEqual(['Of another.erg', 'Of another.zwo'])
  })
})
