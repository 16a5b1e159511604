import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { openScene, type Scene } from '../../core/mirror/training-scene.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'

const MANIFEST = '.musette-workouts.json'
const OWN = ['30-15 -hard- & short -3', 'Lunch Tempo', 'own0untitled0003']
const filesOf = (...stems: string[]) => stems.flatMap((stem) => [`${stem}.erg`, `${stem}.zwo`]).sort()

describe('a workout folder for every workout', () => {
  let scene: Scene
  let temp: TempDir
  let dir: string
  beforeAll(async () => {
    temp = await openTempDir('every-workout')
    dir = join(temp.path, 'workouts')
    scene = await openScene({ MUSETTE_WORKOUT_DIR: dir, MUSETTE_WORKOUTS: 'all' })
  })
  afterAll(async () => {
    await scene?.close()
    await temp?.close()
  })
  // Each test begins with the own list in an empty folder, and no workout of the day.
  beforeEach(async () => {
    await rm(dir, { recursive: true, force: true })
    await settings({ wotd_type: 'None' })
    await scene.pollInfo()
    await scene.pollWorkouts()
    scene.log.lines.length = 0
  })
  const names = async () =>
    (await readdir(dir)).filter((name) => name !== MANIFEST && name !== OWNER_FILE).sort()
  const text = (name: string) => readFile(join(dir, name), 'utf8')
  const settings = (change: Record<string, unknown>) => scene.steer('PATCH', 'settings', change)

  it('holds the own list and the workout of the day, each workout once', async () => {
    expect(await names()).toEqual(filesOf(...OWN))
    await settings({ wotd_type: 'Forecast' })
    await scene.pollInfo()
    const [info] =
      await scene.sql`select wotd_name from training.training_info order by observed_at desc limit 1`
    expect(await names()).toEqual(filesOf(...OWN, String(info?.wotd_name)))
    await settings({ wotd_type: 'Scheduled' })
    await scene.pollInfo()
    expect(await names()).toEqual(filesOf(...OWN))
    await scene.sql`delete from training.workout_files`
    await scene.pollWorkouts()
    expect(await names()).toEqual(filesOf(...OWN))
  })

  it('puts the path before a name that several workouts share, in any order', async () => {
    const before = await scene.sql`select path, name from training.workout_definitions`
    await scene.sql`update training.workout_definitions set name = case path when 'own0tempo0000001' then 'Tempo' else 'tempo' end
      where path in ('own0tempo0000001', 'own0vo2max000002')`
    await scene.pollWorkouts()
    const found = ['own0tempo0000001 Tempo', 'own0untitled0003', 'own0vo2max000002 tempo']
    expect(await names()).toEqual(filesOf(...found))
    for (const { path, name } of before)
      await scene.sql`update training.workout_definitions set name = ${name} where path = ${path}`
  })

  it('writes nothing without a change, and keeps the files that a person made or changed', async () => {
    const before = await Promise.all((await names()).map(text))
    await scene.pollWorkouts()
    expect(scene.log.lines.filter(({ msg }) => msg === 'workout folder updated')).toEqual([])
    expect(await Promise.all((await names()).map(text))).toEqual(before)
    await writeFile(join(dir, 'Lunch Tempo.erg'), 'easier')
    await writeFile(join(dir, 'Mine.zwo'), 'mine')
    await scene.pollWorkouts()
    expect(await text('Lunch Tempo.erg')).toBe('easier')
    expect(before).toContain(await text('Lunch Tempo (2).erg'))
    const workouts = [{ path: 'own0untitled0003', name: null }]
    await scene.answer('^/oauth/workouts$', { success: true, workouts })
    await scene.pollWorkouts()
    const left = ['Lunch Tempo.erg', 'Mine.zwo', 'own0untitled0003.erg', 'own0untitled0003.zwo']
    // Two of three workouts are missing; such a list is not accepted at once.
    expect(await names()).toEqual(expect.arrayContaining(left))
    await scene.sql`update training.workouts set absent_since = now() where path like 'own0%' and path <> 'own0untitled0003'`
    await scene.pollWorkouts()
    expect(await names()).toEqual(left)
    expect(await text('Lunch Tempo.erg')).toBe('easier')
    await scene.heal()
  })

  it('keeps the old file of a workout that can no longer be written, and logs this once', async () => {
    const before = await text('Lunch Tempo.zwo')
    await scene.sql`update training.workout_sets set power = null where path = 'own0tempo0000001'`
    for (const _ of [1, 2]) await scene.pollWorkouts()
    expect(await text('Lunch Tempo.zwo')).toBe(before)
    const told = scene.log.lines.filter(({ msg }) => msg === 'workout cannot be written as a file')
    expect(told).toMatchObject([{ level: 'warn', problem: expect.stringContaining('own0tempo0000001') }])
  })
})
