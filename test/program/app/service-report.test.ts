import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openForTest } from '../../kit/open-for.ts'
import { openCliRig } from '../cli/rig.ts'

/** Values that occur nowhere else. */
const MARK = 'Zaphod Marked'
const PLACE = { lat: 47.1234567, lng: 8.7654321 }

describe('the report of musette verify', () => {
  it('has endpoints, fields, types and sizes, and no data of the rider', async () => {
    const rig = await openForTest(openCliRig({ activities: 2 }))
    await rig.signIn()
    await rig.steer('POST', 'activities', {
      ...{ path: 'zaphod0marked', name: MARK, seconds: 300 },
      summary: { odd_field: MARK, [`${MARK} 2020-01-01`]: 4242.4242 },
      sample: { ...PLACE, odd_sample: 98765.4321 },
    })
    await rig.musette(['sync'])
    await rig.rows(`update training.activities set summary = jsonb_set(summary, '{${MARK}}', '1') where path = 'zaphod0marked';
       insert into training.drift (endpoint, field, kind, example, first_seen_at, last_seen_at, times)
       values ('activity/<id>', '${MARK}', 'unknown', '${MARK}', now(), now(), 1)`)
    const path = join(rig.dataDir, 'report.json')
    const run = await rig.musette(['verify', '--all', '--report', path])
    expect(run).toMatchObject({ code: 5, stderr: expect.stringContaining('none of your data') })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    const text = await readFile(path, 'utf8')
    const { fields, runs, ...rest } = JSON.parse(text)
    expect(rest).toMatchObject({
      versions: { node: process.version, postgres: expect.stringMatching(/^\d+/) },
      comparison: { compared: 3, different: 1, differing_fields: expect.any(Object) },
      activities: 3,
    })
    const endpoints = ['activity/<id>', 'training_info', 'workout', 'workout/<path>', 'workouts']
    expect(Object.keys(fields).sort()).toEqual(endpoints)
    expect(fields['activity/<id>']).toMatchObject({
      'answer.summary.odd_field': { kinds: { text: 1 } },
      'answer.session_data[].odd_sample': { numbers: [4, 4] },
      'answer.session_data[].lat': { kinds: { number: expect.any(Number) } },
    })
    const fetched = { resource: 'activities', kind: 'fetch', outcome: 'done' }
    expect(runs).toContainEqual(expect.objectContaining(fetched))
    const secrets = await rig.rows('select path, name from training.activities')
    for (const value of secrets.flatMap(({ path, name }) => [path, name]))
      if (value) expect(text).not.toContain(String(value))
    expect(text).not.toMatch(
      /zaphod|marked|4242|98765|47\.1|8\.76|127\.0\.0\.1|rider|\/_sandbox|20\d\d-\d\d/i,
    )
  })
})
