import { describe, expect, it } from 'vitest'
import { openRig } from '../core/mirror/rig.ts'
import { openForEach } from '../kit/open-for.ts'

const LONG = Array.from({ length: 3_000 }, (_, index) =>
  String.fromCharCode(97 + ((index * index) % 23)),
).join('')
const DEEP = `${'['.repeat(6_000)}${']'.repeat(6_000)}`

/** The members of a JSON object with `count` unknown fields. */
const many = (count: number) => Array.from({ length: count }, (_, index) => `"f${index}":1`).join()

const rig = openForEach(() => openRig({ activities: 1, env: { MUSETTE_HISTORY_START: '2024-01-01' } }))

describe('an oversized value', () => {
  it('drops only its own entry of the activity list', async () => {
    const bad = `{"path":"${LONG}"},{"path":"deep","x":${DEEP}},{"path":"wide",${many(60_000)}}`
    const good = `{"path":"good","name":"Good","${LONG}":1,${many(3_000)}}`
    await rig.answer('^/oauth/activity$', `{"success":true,"activities":[${bad},${good}]}`)
    await rig.answer('^/oauth/activity/', '{"success":true,"name":"Good","summary":{},"session_data":[]}')
    expect(await rig.sync()).toMatchObject({ failed: 3 })
    expect(await rig.rows('select path, name from training.activities')).toEqual([
      { path: 'good', name: 'Good' },
    ])
    expect(rig.log.lines.find(({ bad }) => Array.isArray(bad))).toMatchObject({
      bad: [
        { named: `${LONG.slice(0, 99)}…`, reason: 'path is longer than 1000 bytes' },
        { named: 'deep', reason: 'is nested deeper than 100 levels' },
        { named: 'wide', reason: 'has more than 50000 fields' },
      ],
    })
    const drift = await rig.rows(`select field, example from training.drift where endpoint = 'activity'`)
    expect(drift.length).toBe(501)
    expect(drift).toContainEqual({ field: `activities[].${LONG}`.slice(0, 199).concat('…'), example: '1' })
    expect(drift).toContainEqual({ field: 'activities[]', example: expect.stringContaining('wide') })
    expect(drift).toContainEqual({ field: '(further fields)', example: 'at least 501 more' })
  })
})
