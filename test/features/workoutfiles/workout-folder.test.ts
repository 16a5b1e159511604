import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportWorkouts } from '../../../src/features/workoutfiles/saved-workouts.ts'
import { workoutfilesSettings } from '../../../src/features/workoutfiles/settings.ts'
import { OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { openScene, type Scene } from '../../core/mirror/training-scene.ts'
import { withSettings } from '../../kit/config.ts'
import { makeOther } from '../../kit/identity.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'

const MANIFEST = '.musette-workouts.json'

describe('the workout folder', () => {
  let scene: Scene
  let temp: TempDir
  let dir: string
  const names = async (folder = dir) =>
    (await readdir(folder)).filter((name) => name !== MANIFEST && name !== OWNER_FILE).sort()
  const wotd = (name: string, workoutId: string) =>
    scene.answer('^/oauth/training_info$', {
      success: true,
      wotd: {
        ...{ type: 'Scheduled', name, workoutId },
        // One address for both formats; the sandbox serves what the address says.
        url: `${scene.sandboxUrl}/oauth/workout-download/own0tempo0000001.erg`,
      },
    })
  const none = async () => {
    await scene.heal()
    await scene.steer('PATCH', 'settings', { wotd_type: 'None' })
  }
  beforeEach(async () => {
    temp = await openTempDir('workouts')
    dir = join(temp.path, 'sub', 'workouts')
    scene = await openScene({ MUSETTE_WORKOUT_DIR: dir })
  })
  afterEach(async () => {
    await scene.close()
    await temp.close()
  })

  it('holds the workout of the day in both formats, as they are in SQL', async () => {
    expect(await scene.pollInfo()).toMatchObject({ failed: 0 })
    const files = await scene.rows('select format, content from training.workout_files')
    const [info] = await scene.rows('select wotd_name from training.training_info')
    const found = await names()
    expect(found.map((name) => name.slice(-4))).toEqual(['.erg', '.zwo'])
    for (const name of found) {
      const file = files.find((row) => name.endsWith(String(row.format)))
      expect(await readFile(join(dir, name), 'utf8')).toBe(file?.content)
      expect(name.startsWith(String(info?.wotd_name).slice(0, 2))).toBe(true)
    }
  })

  it('can be read by everybody and changed by its owner only, whatever the umask', async () => {
    const umask = process.umask(0)
    try {
      await scene.pollInfo()
    } finally {
      process.umask(umask)
    }
    const modes = (await readdir(dir)).map(async (name) => (await stat(join(dir, name))).mode & 0o777)
    expect(new Set(await Promise.all(modes))).toEqual(new Set([0o644]))
    expect((await stat(dir)).mode & 0o777).toBe(0o755)
  })

  it('is not touched while nothing changes', async () => {
    await scene.pollInfo()
    const look = async () => {
      const stats = await Promise.all((await readdir(dir)).map((name) => stat(join(dir, name))))
      return [...stats, await stat(dir)].map(({ ino, mtimeMs }) => [ino, mtimeMs])
    }
    const before = await look()
    await scene.pollInfo()
    expect(await look()).toEqual(before)
  })

  it("removes yesterday's files and keeps every file that is not ours", async () => {
    await wotd('Yesterday', 'y')
    await scene.pollInfo()
    await writeFile(join(dir, 'Mine.erg'), 'mine')
    await scene.heal()
    await wotd('Today', 't')
    await scene.pollInfo()
    expect(await names()).toEqual(['Mine.erg', 'Today.erg', 'Today.zwo'])
    await none()
    await scene.pollInfo()
    expect(await names()).toEqual(['Mine.erg'])
  })

  it('of another database is left alone, with one log line and the command to type', async () => {
    await wotd('Mine', 'm')
    await scene.pollInfo()
    const before = await names()
    expect(before).toEqual(['Mine.erg', 'Mine.zwo'])
    const manifest = await readFile(join(dir, MANIFEST), 'utf8')
    await makeOther(scene.databaseUrl)
    await scene.heal()
    await wotd('Of another', 'o')
    for (const _ of [1, 2]) expect(await scene.pollInfo()).toMatchObject({ failed: 1 })
    expect(await names()).toEqual(before)
    expect(await readFile(join(dir, MANIFEST), 'utf8')).toBe(manifest)
    const run = `run: rm ${join(dir, OWNER_FILE)}`
    expect(scene.log.lines.filter(({ msg }) => String(msg).includes(run))).toHaveLength(1)
    const exported = { account: 'default', name: undefined, format: 'zwo', dir } as const
    const unset = { dir: undefined, holdsSaved: false }
    const config = withSettings(scene.app.config, workoutfilesSettings, unset)
    const elsewhere = { ...scene.app, config }
    await scene.pollWorkouts()
    await expect(exportWorkouts(elsewhere, exported)).rejects.toMatchObject({ code: 'folder_of_another' })
    await rm(join(dir, OWNER_FILE))
    await scene.pollInfo()
    expect(await names()).toEqual(['Of another.erg', 'Of another.zwo'])
  })

  it('never overwrites a file, a folder or a link of that name', async () => {
    await mkdir(dir, { recursive: true })
    await writeFile(join(dir, 'Ride.erg'), 'mine')
    await mkdir(join(dir, 'Ride (2).erg'))
    await writeFile(join(temp.path, 'elsewhere'), 'elsewhere')
    await symlink(join(temp.path, 'elsewhere'), join(dir, 'Ride.zwo'))
    await wotd('Ride', 'r')
    await scene.pollInfo()
    expect(await names()).toEqual(['Ride (2).erg', 'Ride (2).zwo', 'Ride (3).erg', 'Ride.erg', 'Ride.zwo'])
    await none()
    await scene.pollInfo()
    expect(await names()).toEqual(['Ride (2).erg', 'Ride.erg', 'Ride.zwo'])
    expect(await readFile(join(dir, 'Ride.erg'), 'utf8')).toBe('mine')
    expect(await readFile(join(temp.path, 'elsewhere'), 'utf8')).toBe('elsewhere')
  })

  it('keeps a file of ours that a person changed', async () => {
    await wotd('Ride', 'r')
    await scene.pollInfo()
    await writeFile(join(dir, 'Ride.erg'), 'harder')
    await none()
    await scene.pollInfo()
    expect(await names()).toEqual(['Ride.erg'])
    expect(await readFile(join(dir, 'Ride.erg'), 'utf8')).toBe('harder')
  })

  it('restores a lost file, and removes a half written one', async () => {
    await wotd('Ride', 'r')
    await scene.pollInfo()
    await rm(join(dir, 'Ride.erg'))
    await writeFile(join(dir, '.musette-0123456789ab.tmp'), 'half')
    await scene.pollInfo()
    expect(await names()).toEqual(['Ride.erg', 'Ride.zwo'])
  })

  it('recognizes our file after a crash', async () => {
    await wotd('Ride', 'r')
    await scene.pollInfo()
    const manifest = JSON.parse(await readFile(join(dir, MANIFEST), 'utf8'))
    // As it is noted beforehand: the content that is there and the one that will be.
    manifest['Ride.erg'].sha256.unshift('0'.repeat(64))
    await writeFile(join(dir, MANIFEST), JSON.stringify(manifest))
    await none()
    await scene.pollInfo()
    expect(await names()).toEqual([])
  })

  it('removes nothing outside the folder, with any manifest', async () => {
    await wotd('Ride', 'r')
    await scene.pollInfo()
    const manifest = JSON.parse(await readFile(join(dir, MANIFEST), 'utf8'))
    await writeFile(join(temp.path, 'sub', 'out.erg'), await readFile(join(dir, 'Ride.erg')))
    manifest['../out.erg'] = manifest['Ride.erg']
    await writeFile(join(dir, MANIFEST), JSON.stringify(manifest))
    await none()
    await scene.pollInfo()
    expect(await names(join(temp.path, 'sub'))).toContain('out.erg')
  })

  it('never writes outside the folder, with any name of a workout', async () => {
    await wotd('../../../etc/\u0000pass\nwd', 'r')
    await scene.pollInfo()
    expect((await names()).map((name) => name.replace(/\.(erg|zwo)$/, ''))).toEqual([
      '-..-..-etc-pass wd',
      '-..-..-etc-pass wd',
    ])
    expect(await names(temp.path)).toEqual(['sub'])
  })

  it('is logged once while it cannot be written, and SQL is complete', async () => {
    await mkdir(join(temp.path, 'sub'))
    await writeFile(dir, 'a file in its place')
    expect(await scene.pollInfo()).toMatchObject({ fetched: 2, failed: 1 })
    expect(await scene.pollInfo()).toMatchObject({ fetched: 0, failed: 1 })
    const complaints = scene.log.lines.filter((line) => line.level === 'error')
    expect(complaints).toHaveLength(1)
    expect(complaints[0]?.msg).toContain('MUSETTE_WORKOUT_DIR')
    expect(await scene.rows('select format from training.workout_files')).toHaveLength(2)
    await rm(dir)
    expect(await scene.pollInfo()).toMatchObject({ failed: 0 })
    expect(await names()).toHaveLength(2)
    expect(scene.log.lines.some((line) => line.msg === 'workout folder works again')).toBe(true)
  })

  it('has a folder of its own for each other account', async () => {
    await scene.pollInfo()
    await scene.pollInfo(await scene.signIn('second'))
    expect(await names(join(dir, 'second'))).toHaveLength(2)
    await none()
    await scene.pollInfo()
    expect(await names()).toEqual(['second'])
    expect(await names(join(dir, 'second'))).toHaveLength(2)
  })
})
