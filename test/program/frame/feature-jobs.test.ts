import { expect, it } from 'vitest'
import { wantedSchedules } from '../../../src/core/jobs/schedules.ts'
import { FEATURES } from '../../../src/features/index.ts'
import { defineFeature } from '../../../src/program/frame/define-feature.ts'
import { loadCatalog } from '../../../src/program/frame/feature-jobs.ts'
import { readConfig } from '../../kit/config.ts'

const config = readConfig({ MUSETTE_POLL_EVERY: '5m' })
const feature = defineFeature({
  name: 'made-up',
  jobs: {
    'is-asked-for': {
      attempts: 3,
      atStart: true,
      every: async ({ mirror }) => mirror.pollEveryMs,
      run: async () => {},
    },
    'is-not': { every: async () => undefined, run: async () => {} },
  },
})

it('the job of a feature has one schedule, when the settings ask for it', async () => {
  const catalog = await loadCatalog(config, [feature])
  expect(catalog).toMatchObject({
    'is-asked-for': { attempts: 3, schedule: { everyMs: 300_000, per: 'daemon', atStart: true } },
    'is-not': { schedule: { everyMs: undefined } },
  })
  const ids = wantedSchedules([7, 8], catalog).map(({ id }) => id)
  expect(ids.filter((id) => id.startsWith('is-'))).toEqual(['is-asked-for'])
})

it('no two features, and no feature and core, have a job of one name', async () => {
  const names = FEATURES.flatMap(({ jobs = {} }) => Object.keys(jobs))
  expect(Object.keys(await loadCatalog(config, FEATURES))).toHaveLength(
    Object.keys(await loadCatalog(config, [])).length + names.length,
  )
})
