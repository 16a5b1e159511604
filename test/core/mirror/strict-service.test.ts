import { expect, it } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { makeRide } from '../../kit/ride.ts'
import { openRig } from './rig.ts'

const said: string[] = []
const rig = openForAll(() =>
  openRig({ activities: 3, longestActivitySeconds: 300, strict: (what) => void said.push(what) }),
)

it('login, refresh, sync and upload send only what the service document defines', async () => {
  expect(await rig.sync({ full: true, training: true })).toMatchObject({ fetched: 3, failed: 0 })
  await rig.steer('POST', 'tokens/expire')
  await rig.sync({ training: true })
  const service = rig.app.service.forAccount(rig.account)
  await service.uploadFit({ fileName: 'ride.fit', name: 'Named', bytes: makeRide() })
  expect(await rig.sync({ full: true, training: true })).toMatchObject({ failed: 0 })
  expect(await rig.steer('GET', 'counts')).toMatchObject({
    tokens: { password: 1, refresh_token: 1, rejected: 0 },
    uploads: { accepted: 1 },
  })
  expect(said).toEqual([])
  expect(await rig.steer('GET', 'deviations')).toEqual({ strict: true, deviations: {} })
  // The rows have no field that is not in the document either.
  expect(await rig.sql`select distinct p_raw from training.samples`).toEqual([{ p_raw: null }])
})
