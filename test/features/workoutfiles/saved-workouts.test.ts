import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { openScene, type Scene } from '../../core/mirror/training-scene.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { readCourse, readZwo } from './readers.ts'

const MANIFEST = '.musette-workouts.json'

describe('the workout folder with every workout', () => {
  let scene: Scene
  let temp: TempDir
  let dir: string
  const names = async () =>
    (await readdir(dir)).filter((name) => name !== MANIFEST && name !== OWNER_FILE).sort()
  const text = (name: string) => readFile(join(dir, name), 'utf8')
  const settings = (change: Record<string, unknown>) => scene.steer('PATCH', 'settings', change)
  /** replaces the rider's own list */
  const list = (workouts: unknown[]) => scene.answer('^/oauth/workouts$', { success: true, workouts })
  beforeEach(async () => {
    temp = await openTempDir('every-workout')
    dir = join(temp.path, 'workouts')
    scene = await openScene({ MUSETTE_WORKOUT_DIR: dir, MUSETTE_WORKOUTS: 'all' })
    await settings({ wotd_type: 'None' })
  })
  afterEach(async () => {
    await scene.close()
    await temp.close()
  })

  it('holds the own list and the workout of the day, each workout once', async () => {
    await scene.pollInfo()
    await scene.pollWorkouts()
    const own = ['30-15 -hard- & short -3', 'Lunch Tempo', 'own0untitled0003']
    const files = own.flatMap((stem) => [`${stem}.erg`, `${stem}.zwo`]).sort()
    expect(await names()).toEqual(files)
    await settings({ wotd_type: 'Forecast' })
    await scene.pollInfo()
    const [info] = await scene.rows(
      'select wotd_name from training.training_info order by observed_at desc limit 1',
    )
    expect(await names()).toEqual([...files, `${info?.wotd_name}.erg`, `${info?.wotd_name}.zwo`].sort())
    await settings({ wotd_type: 'Scheduled' })
    await scene.pollInfo()
    expect(await names()).toEqual(files)
  })

  it('holds the own workout of the day as its own while the service has no files of it', async () => {
    await scene.pollInfo()
    await scene.pollWorkouts()
    const before = await names()
    await settings({ wotd_type: 'Scheduled' })
    await scene.pollInfo()
    await scene.rows('delete from training.workout_files returning 1')
    await scene.pollWorkouts()
    expect(await names()).toEqual(before)
  })

  it('equals the files of the service second by second', async () => {
    await scene.pollInfo()
    await scene.pollWorkouts()
    const [signature] = await scene.rows('select ftp::float8 as ftp from training.training_info')
    const ftp = Number(signature?.ftp)
    const paths = await scene.rows('select path from training.workouts where account_id is not null')
    expect(paths).toHaveLength(3)
    const service = scene.deps.serviceOf(scene.account)
    const stems: Record<string, string> = {
      own0vo2max000002: '30-15 -hard- & short -3',
      own0tempo0000001: 'Lunch Tempo',
    }
    for (const path of paths.map((row) => String(row.path))) {
      const stem = stems[path] ?? path
      const at = `${scene.sandboxUrl}/oauth/workout-download/${path}`
      const erg = readCourse((await service.downloadWorkout(`${at}.erg`)).value)
      const ours = readCourse(await text(`${stem}.erg`))
      expect(ours.name).toBe(erg.name)
      expect(ours.watts.map(Math.round)).toEqual(erg.watts)
      const zwo = readZwo((await service.downloadWorkout(`${at}.zwo`)).value, ftp)
      const oursZwo = readZwo(await text(`${stem}.zwo`), ftp)
      expect(oursZwo).toMatchObject({ name: zwo.name, description: zwo.description })
      expect(oursZwo.watts).toHaveLength(zwo.watts.length)
      for (const [i, watts] of zwo.watts.entries())
        expect(Math.abs((oursZwo.watts[i] ?? 0) - watts)).toBeLessThan(0.0006 * ftp)
    }
  })

  it('writes nothing without a change, and keeps files that a person changed or made', async () => {
    await scene.pollWorkouts()
    const before = await Promise.all((await names()).map(text))
    scene.log.lines.length = 0
    await scene.pollWorkouts()
    expect(scene.log.lines.filter(({ msg }) => msg === 'workout folder updated')).toEqual([])
    expect(await Promise.all((await names()).map(text))).toEqual(before)
    await writeFile(join(dir, 'Lunch Tempo.erg'), 'easier')
    await writeFile(join(dir, 'Mine.zwo'), 'mine')
    await scene.pollWorkouts()
    expect(await text('Lunch Tempo.erg')).toBe('easier')
    expect(before).toContain(await text('Lunch Tempo (2).erg'))
    await list([{ path: 'own0untitled0003', name: null }])
    await scene.pollWorkouts()
    const left = ['Lunch Tempo.erg', 'Mine.zwo', 'own0untitled0003.erg', 'own0untitled0003.zwo']
    // Two of three workouts are gone: such a list is not accepted at once.
    expect(await names()).toEqual(expect.arrayContaining(left))
    await scene.rows(
      `update training.workouts set absent_since = now() where path like 'own0%' and path <> 'own0untitled0003'`,
    )
    await scene.pollWorkouts()
    expect(await names()).toEqual(left)
    expect(await text('Lunch Tempo.erg')).toBe('easier')
  })

  it('puts the path before a name that several workouts have, in any order', async () => {
    await scene.pollWorkouts()
    await scene.rows(`update training.workout_definitions set name = 'Tempo' where path = 'own0tempo0000001'`)
    await scene.rows(`update training.workout_definitions set name = 'tempo' where path = 'own0vo2max000002'`)
    await scene.pollWorkouts()
    expect((await names()).filter((name) => name.endsWith('.zwo'))).toEqual([
      'own0tempo0000001 Tempo.zwo',
      'own0untitled0003.zwo',
      'own0vo2max000002 tempo.zwo',
    ])
  })

  it('keeps the older file of a workout that can no longer be written, and says so once', async () => {
    await scene.pollWorkouts()
    const before = await text('Lunch Tempo.zwo')
    await scene.rows(`update training.workout_sets set power = null where path = 'own0tempo0000001'`)
    await scene.pollWorkouts()
    await scene.pollWorkouts()
    expect(await text('Lunch Tempo.zwo')).toBe(before)
    const told = scene.log.lines.filter(({ msg }) => msg === 'workout cannot be written as a file')
    expect(told).toMatchObject([{ level: 'warn', problem: expect.stringContaining('own0tempo0000001') }])
  })

  it('is counted and logged once when the folder cannot be written, and is whole again afterwards', async () => {
    await writeFile(dir, 'a file in its place')
    expect(await scene.pollWorkouts()).toMatchObject({ failed: 1 })
    expect(await scene.pollWorkouts()).toMatchObject({ failed: 1 })
    const complaints = scene.log.lines.filter((line) => line.level === 'error')
    expect(complaints).toHaveLength(1)
    expect(complaints[0]?.msg).toContain('MUSETTE_WORKOUT_DIR')
    await rm(dir)
    expect(await scene.pollWorkouts()).toMatchObject({ failed: 0 })
    expect(await names()).toHaveLength(6)
  })
})
