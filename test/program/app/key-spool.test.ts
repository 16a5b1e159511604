import { readdir } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest'
import { type CliRig, openCliRig } from '../cli/rig.ts'
import '../../kit/provided.ts'
import { eventually } from '../../kit/eventually.ts'
import { queryOnce } from '../../kit/postgres.ts'

let rig: CliRig
beforeAll(async () => {
  rig = await openCliRig({ activities: 1 })
  await rig.signIn()
})
afterEach(() => connections(true))
afterAll(() => rig.close())

/** Opens or shuts the database, as a server that goes away does: whoever is connected is thrown out. */
async function connections(allowed: boolean): Promise<void> {
  const name = new URL(rig.databaseUrl).pathname.slice(1)
  const server = inject('postgresUrl')
  await queryOnce(server, `alter database ${name} with allow_connections ${allowed}`)
  if (allowed) return
  await queryOnce(server, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
}

const spools = async () => (await readdir(rig.dataDir)).filter((name) => name.endsWith('.spool'))
const grants = async () => (await rig.steer<{ refresh: string[] }>('GET', 'tokens')).refresh.length

/** Loses the database between the service's answer to a refresh and the row it is for. */
async function loseDatabaseWhileRefreshing(): Promise<void> {
  await rig.steer('POST', 'tokens/expire')
  await rig.steer('POST', 'faults', { path: '^/oauth/token$', kind: 'slow', duration_ms: 1_500 })
  const before = await grants()
  const sync = rig.start(['sync'])
  await eventually(async () => (await grants()) > before)
  await connections(false)
  await sync.finished
  expect(await spools()).toHaveLength(1)
  await connections(true)
}

it('the next sync stores spooled tokens and requests no others', async () => {
  await loseDatabaseWhileRefreshing()
  const before = await grants()
  expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
  expect(await grants()).toBe(before)
  expect(await spools()).toEqual([])
})

it('a rotation seals spooled tokens with the new key', async () => {
  await loseDatabaseWhileRefreshing()
  const before = await grants()
  expect(await rig.musette(['key', 'rotate'])).toMatchObject({ code: 0 })
  expect(await spools()).toEqual([])
  expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
  expect(await grants()).toBe(before)
})
