import { expect, it } from 'vitest'
import { openRig } from '../core/mirror/rig.ts'
import { connect } from '../kit/connect.ts'
import { openForAll } from '../kit/open-for.ts'

const rig = openForAll(() => openRig({ activities: 1, longestActivitySeconds: 600 }))

// Each edit writes the same new number into the summary and every sample.
const EDITS = 20
const SEEN = `select (a.summary ->> 'edit')::int as summary,
    (select array_agg(distinct v) from training.sample_extras x, unnest(x."values") v
     where x.activity_id = a.activity_id and x.field = 'edit') as samples,
    a.sample_count = (select count(*) from training.samples s where s.activity_id = a.activity_id) as counted,
    (select count(*)::int from training.raw_documents d where d.activity_id = a.activity_id) as documents
  from training.activities a`

it('a reader sees the samples of a single response while an activity is rewritten', async () => {
  await rig.sync()
  const [row] = await rig.rows('select path from training.activities')
  const reader = await connect(rig.databaseUrl)
  const seen = new Set<number | null>()
  let edited = false
  const reading = (async () => {
    while (!edited) {
      const [found] = (await reader.query(SEEN)).rows
      expect(found).toMatchObject({ counted: true, documents: 1 })
      expect(found.samples).toEqual(found.summary === null ? null : [found.summary])
      seen.add(found.summary)
    }
  })()
  try {
    for (let edit = 1; edit <= EDITS; edit++) {
      await rig.steer('PATCH', `activities/${row?.path}`, { summary: { edit }, sample: { edit } })
      expect(await rig.sync()).toMatchObject({ fetched: 1 })
    }
  } finally {
    edited = true
    await reading
    await reader.end()
  }
  expect(seen.size).toBeGreaterThan(EDITS / 4)
})
