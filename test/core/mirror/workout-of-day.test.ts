import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { useScene } from './training-scene.ts'

describe('the workout of the day', () => {
  const files = () =>
    scene.sql`select workout_id, format, content, sha256, fetched_at from training.workout_files order by 1, 2`
  const wotd = async () =>
    (await scene.sql`select * from training.training_info order by observed_at desc limit 1`)[0] ?? {}
  const scene = useScene()

  it('is stored in both formats, as the service sends them', async () => {
    expect(await scene.pollInfo()).toMatchObject({ fetched: 2, failed: 0 })
    const found = await files()
    expect(found.map((file) => file.format)).toEqual(['erg', 'zwo'])
    for (const file of found) {
      const content = String(file.content)
      expect(file.workout_id).toBe((await wotd()).wotd_workout_id)
      expect(file.sha256).toBe(createHash('sha256').update(content).digest('hex'))
      expect(content).toMatch(file.format === 'erg' ? /^\[COURSE HEADER\]/ : /^<\?xml/)
    }
    expect((await wotd()).wotd_url).toMatch(/\/oauth\/workout-download\/.+\.(erg|zwo)$/)
    const runs =
      await scene.sql`select outcome, fetched, failed from training.sync_runs where resource = 'workout_of_day'`
    expect(runs).toEqual([{ outcome: 'done', fetched: 2, failed: 0 }])
    // Unchanged content is not written again.
    await scene.sql`update training.workout_files set made_for = '{}', content = 'as it lies there'`
    expect(await scene.pollInfo()).toMatchObject({ fetched: 2 })
    expect((await files()).map((file) => file.content)).toEqual(['as it lies there', 'as it lies there'])
  })

  it('is downloaded again if the signature changes', async () => {
    await scene.pollInfo()
    const before = await files()
    for (let i = 0; i < 3; i++) await scene.add({ seconds: 10_800, kind: 'race' })
    expect(await scene.pollInfo()).toMatchObject({ changed: 1, fetched: 2 })
    const after = await files()
    expect(after[0]?.content).not.toBe(before[0]?.content)
    expect(after.every((file, i) => Number(file.fetched_at) > Number(before[i]?.fetched_at))).toBe(true)
  })

  it('is mirrored in one format if the other fails, and later in both', async () => {
    await scene.fault('^/oauth/workout-download/.*\\.erg$', { kind: 'html' })
    expect(await scene.pollInfo()).toMatchObject({ fetched: 1, failed: 1 })
    expect((await files()).map((file) => file.format)).toEqual(['zwo'])
    expect(scene.log.lines).toContainEqual(expect.objectContaining({ level: 'error', format: 'erg' }))
    await scene.heal()
    expect(await scene.pollInfo()).toMatchObject({ fetched: 1, failed: 0 })
    expect((await files()).map((file) => file.format)).toEqual(['erg', 'zwo'])
  })
})
