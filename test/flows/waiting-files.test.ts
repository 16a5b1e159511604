import { expect, it } from 'vitest'
import { recordWaitingFiles, type WaitingReport } from '../../src/core/store/uploads/waiting-files.ts'
import { makeFindToday } from '../../src/features/dashboard/pages/today/queries.ts'
import { coreGauges } from '../../src/features/metrics/core-gauges.ts'
import { findListed } from '../../src/program/doctor/doctor-context.ts'
import { makeFacts } from '../../src/program/frame/findings/facts.ts'
import { findStatus } from '../../src/program/frame/findings/status-report.ts'
import { openRig } from '../core/mirror/rig.ts'
import { openForAll } from '../kit/open-for.ts'

const rig = openForAll(() => openRig({ activities: 0 }))

const cut = {
  code: 'not_whole',
  reason: 'incomplete: 700 bytes are missing at its end',
  relativePath: 'may/ride.fit',
  account: 'default',
  sizeBytes: 500,
  sinceMs: Date.parse('2026-05-03T08:00:00Z'),
}

async function show(...waiting: WaitingReport['waiting']): Promise<void> {
  const report = { folder: '/drop', waiting, lookedAt: new Date() }
  await rig.app.store.transaction((tx) => recordWaitingFiles(tx, report))
}
const diagnose = () => {
  const { config, store } = rig.app
  return findListed({ config, mirror: async () => ({ store, url: rig.databaseUrl }) }, 'waiting files')
}

it('status, doctor, metrics and dashboard show a waiting file until it no longer waits', async () => {
  await show(cut)
  const { waiting_files } = await findStatus(rig.app)
  expect(waiting_files).toMatchObject([{ path: 'may/ride.fit', account: 'default', size_bytes: 500 }])
  expect(await diagnose()).toMatchObject([
    { state: 'warning', found: 'may/ride.fit waits: incomplete: 700 bytes are missing at its end' },
  ])
  const waiting = (code: string, count: number) => ({
    labels: { code },
    values: { musette_drop_folder_waiting: count },
  })
  const readings = await coreGauges.read(makeFacts(rig.app, new Date()))
  // The last value of a gauge counts.
  expect(readings.findLast(({ labels }) => labels?.code === 'not_whole')).toEqual(waiting('not_whole', 1))
  expect(readings).toContainEqual(waiting('vanished', 0))
  const today = await makeFindToday({ ...rig.app, owner: rig.app }, [])({})
  expect(today?.waiting).toMatchObject([{ path: 'may/ride.fit', reason: cut.reason }])
  await show()
  expect((await findStatus(rig.app)).waiting_files).toEqual([])
  expect(await diagnose()).toMatchObject([{ state: 'ok' }])
})

it('only status and dashboard show files that are no FIT files', async () => {
  const reason = 'the service accepts FIT files only'
  await show({ ...cut, code: 'not_taken', relativePath: 'ride.gpx', reason })
  expect((await findStatus(rig.app)).waiting_files).toMatchObject([{ path: 'ride.gpx', reason }])
  expect((await makeFindToday({ ...rig.app, owner: rig.app }, [])({}))?.waiting).toMatchObject([
    { path: 'ride.gpx', reason },
  ])
  expect(await diagnose()).toMatchObject([{ state: 'ok' }])
  const readings = await coreGauges.read(makeFacts(rig.app, new Date()))
  const counts = readings.flatMap(({ values }) => values.musette_drop_folder_waiting ?? [])
  expect(counts.filter((count) => count !== 0)).toEqual([])
  await show()
})

it('a new watcher forgets the replaced folder, but not the folders of other machines', async () => {
  await show(cut)
  const at = (folder: string, isFirst: boolean) => ({ folder, waiting: [cut], lookedAt: new Date(), isFirst })
  const folders = async () => (await findStatus(rig.app)).waiting_files.map(({ folder }) => folder)
  await rig.app.store.transaction((tx) => recordWaitingFiles(tx, at('/new', true)))
  expect(await folders()).toEqual(['/new'])
  await rig.app.store.transaction((tx) => recordWaitingFiles(tx, at('/other', false)))
  expect(await folders()).toEqual(['/new', '/other'])
  expect(await diagnose()).toHaveLength(2)
})
