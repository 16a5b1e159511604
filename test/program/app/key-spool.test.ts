import { readdir } from 'node:fs/promises'
import { expect, inject, it } from 'vitest'
import '../../kit/provided.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForTest } from '../../kit/open-for.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { openCliRig } from '../cli/rig.ts'

// For a rotation with such a file, see key-rotation.test.ts.
it('the next sync stores spooled tokens and requests no new ones', async () => {
  const rig = await openForTest(openCliRig({ activities: 1 }))
  await rig.signIn()
  const server = inject('postgresUrl')
  const name = new URL(rig.databaseUrl).pathname.slice(1)
  const allow = (isOpen: boolean) =>
    queryOnce(server, `alter database ${name} with allow_connections ${isOpen}`)
  const spools = async () => (await readdir(rig.dataDir)).filter((name) => name.endsWith('.spool'))
  const grants = async () => (await rig.steer<{ refresh: string[] }>('GET', 'tokens')).refresh.length
  await rig.steer('POST', 'tokens/expire')
  await rig.steer('POST', 'faults', { path: '^/oauth/token$', kind: 'slow', duration_ms: 1_500 })
  const before = await grants()
  const sync = rig.start(['sync'])
  await eventually(async () => (await grants()) > before)
  // The database goes away between the service's answer and the row for it: all connections are closed.
  await allow(false)
  await queryOnce(server, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  await sync.finished
  expect(await spools()).toHaveLength(1)
  await allow(true)
  const granted = await grants()
  expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
  expect(await grants()).toBe(granted)
  expect(await spools()).toEqual([])
})
