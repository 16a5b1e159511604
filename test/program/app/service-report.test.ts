import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { queryOnce } from '../../kit/postgres.ts'
import { type CliRig, openCliRig } from '../cli/rig.ts'

/** Values that stand nowhere else. */
const MARK = 'Zaphod Marked'
const PLACE = { lat: 47.1234567, lng: 8.7654321 }

describe('the report of musette verify', () => {
  const report = async (rig: CliRig, name: string) => {
    const path = join(rig.dataDir, name)
    const run = await rig.musette(['verify', '--all', '--report', path])
    return { run, text: await readFile(path, 'utf8'), mode: (await stat(path)).mode & 0o777 }
  }

  it('has endpoints, fields, kinds and sizes, and nothing of the rider', async () => {
    const rig = await openCliRig({ activities: 2, longestActivitySeconds: 900 })
    try {
      await rig.signIn()
      await rig.steer('POST', 'activities', {
        ...{ path: 'zaphod0marked', name: MARK, seconds: 300 },
        ...{
          summary: { odd_field: MARK, [`${MARK} 2020-01-01`]: 4242.4242 },
          sample: { ...PLACE, odd_sample: 98765.4321 },
        },
      })
      await rig.musette(['sync'])
      await queryOnce(
        rig.databaseUrl,
        `update training.activities set summary = jsonb_set(summary, '{${MARK}}', '1') where path = 'zaphod0marked'`,
      )
      await queryOnce(
        rig.databaseUrl,
        `insert into training.drift (endpoint, field, kind, example, first_seen_at, last_seen_at, times) values ('activity/<id>', '${MARK}', 'unknown', '${MARK}', now(), now(), 1)`,
      )
      const { run, text, mode } = await report(rig, 'report.json')
      expect(run.code).toBe(5)
      expect(run.stderr).toContain('none of your data')
      expect(mode).toBe(0o600)
      const told = JSON.parse(text)
      expect(told).toMatchObject({
        versions: { node: process.version, postgres: expect.stringMatching(/^\d+/) },
        comparison: { compared: 3, different: 1, differing_fields: expect.any(Object) },
        activities: 3,
      })
      const { fields } = told
      expect(Object.keys(fields).sort()).toEqual([
        'activity/<id>',
        'training_info',
        'workout',
        'workout/<path>',
        'workouts',
      ])
      expect(fields['activity/<id>']['answer.summary.odd_field']).toMatchObject({ kinds: { text: 1 } })
      expect(fields['activity/<id>']['answer.session_data[].odd_sample']).toMatchObject({ numbers: [4, 4] })
      expect(fields['activity/<id>']['answer.session_data[].lat'].kinds).toHaveProperty('number')
      expect(told.runs).toContainEqual(
        expect.objectContaining({ resource: 'activities', kind: 'fetch', outcome: 'done' }),
      )
      const secrets = await queryOnce(
        rig.databaseUrl,
        'select path, name, activity_id::text from training.activities',
      )
      for (const value of secrets.flatMap(({ path, name }) => [path, name]))
        if (value) expect(text).not.toContain(String(value))
      expect(text).not.toMatch(
        /zaphod|marked|4242|98765|47\.1|8\.76|127\.0\.0\.1|rider|\/_sandbox|20\d\d-\d\d/i,
      )
    } finally {
      await rig.close()
    }
  })

  it('says in one sentence that it cannot be written', async () => {
    const rig = await openCliRig({ activities: 1, longestActivitySeconds: 300 })
    try {
      await rig.signIn()
      await rig.musette(['sync'])
      const { code, stderr } = await rig.musette([
        'verify',
        '--report',
        join(rig.dataDir, 'no', 'such', 'file.json'),
      ])
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('(ENOENT); name another file'),
      })
    } finally {
      await rig.close()
    }
  })
})
