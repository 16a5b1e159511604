import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrate } from '../../src/core/store/migrate.ts'
import { openStore, type Store } from '../../src/core/store/store.ts'
import { readChanges } from '../../src/features/changes/change-feed.ts'
import { checkExport, exportAll } from '../../src/features/export/export-all.ts'
import { openPublisher } from '../../src/features/mqtt/publisher.ts'
import { mqttSettings } from '../../src/features/mqtt/settings.ts'
import { openWebhooks, PAUSES } from '../../src/features/webhooks/open-webhooks.ts'
import { openDatabaseWatch } from '../../src/program/daemon/database-watch.ts'
import {
  PAUSES as MQTT_PAUSES,
  mosquitto,
  openMosquitto,
  PASSWORD,
  type TestBroker,
  USER,
} from '../features/mqtt/mosquitto.ts'
import { makeWebhook } from '../features/webhooks/receiver.ts'
import { list, makeSignedIn, mirror } from '../features/webhooks/scene.ts'
import { runsWith } from '../kit/binaries.ts'
import { readConfig } from '../kit/config.ts'
import { eventually } from '../kit/eventually.ts'
import { makeSilentLog } from '../kit/log.ts'
import { queryOnce } from '../kit/postgres.ts'
import { type Cluster, HAS_CLUSTERS, openCluster } from '../kit/postgres-cluster.ts'
import { type Line, openLine } from '../kit/postgres-line.ts'
import { openReceiver, type Receiver } from '../kit/receiver.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'

const log = makeSilentLog()
const OFTEN = { everyMs: 50 }
const SOON = { ...MQTT_PAUSES, lookEveryMs: 100, lockRetryMs: 100, answerMs: 100 }

/** A way in which a database continues elsewhere or from an earlier time. */
type Situation = [
  name: string,
  cause: string,
  /** runs before the lost rows are written; returns a function that runs afterwards and returns the cluster that then serves */
  prepare: (serving: Cluster, archive: string) => Promise<() => Promise<Cluster>>,
]
const found = async (where: Cluster, query: string) => (await where.query(query)).length > 0

/** Each situation continues from the previous one. */
const SITUATIONS: readonly Situation[] = [
  [
    'a promoted replica that lacks the last commits',
    'timeline',
    async (serving) => {
      const standby = await openOne({ primary: serving })
      const caughtUp = 'select from pg_stat_replication where replay_lsn = pg_current_wal_lsn()'
      await eventually(() => found(serving, caughtUp), { what: 'the standby has all' })
      await standby.query(`alter system set primary_conninfo = ''`)
      await standby.query('select pg_reload_conf()')
      const isCut = async () => !(await found(standby, 'select from pg_stat_wal_receiver'))
      await eventually(isCut, { what: 'it receives no more' })
      return async () => {
        await serving.stop()
        await standby.query('select pg_promote()')
        return standby
      }
    },
  ],
  [
    'a point in time',
    'timeline',
    async (serving, archive) => {
      const target = `recovery_target_name = 'before'\nrecovery_target_action = 'promote'\n`
      const settings = `restore_command = 'cp ${archive}/%f %p'\n${target}`
      const copy = await openOne({ copyOf: serving, settings })
      await writeFile(join(copy.dir, 'recovery.signal'), '')
      await serving.query(`select pg_create_restore_point('before')`)
      return async () => {
        await serving.query('select pg_switch_wal()')
        const archived =
          'select from pg_stat_archiver where last_archived_wal >= pg_walfile_name(pg_switch_wal())'
        await eventually(() => found(serving, archived), { what: 'the archive has all' })
        await serving.stop()
        await copy.start()
        const isPromoted = () => found(copy, 'select where not pg_is_in_recovery()')
        await eventually(isPromoted, { what: 'it is promoted' })
        return copy
      }
    },
  ],
  [
    'pg_basebackup, which Postgres starts on the same timeline',
    'earlier',
    async (serving) => {
      const copy = await openOne({ copyOf: serving })
      return async () => {
        await serving.stop()
        await copy.start()
        return copy
      }
    },
  ],
  [
    'pg_dump',
    'copy',
    async (serving, archive) => {
      const dump = join(archive, 'dump')
      await serving.run('pg_dump', '-Fc', '-f', dump, urlOf(serving))
      return async () => {
        await serving.query('create database restored')
        await serving.run('pg_restore', '--exit-on-error', '-d', urlOf(serving, 'restored'), dump)
        await serving.query(`drop database ${MIRROR} with (force)`)
        await serving.query(`alter database restored rename to ${MIRROR}`)
        return serving
      }
    },
  ],
]

const MIRROR = 'mirror'
const urlOf = ({ url }: Cluster, database = MIRROR) => new URL(`/${database}`, url).href

const open: Array<{ close(): Promise<unknown> }> = []
async function openOne(options: Parameters<typeof openCluster>[0]): Promise<Cluster> {
  const cluster = await openCluster(options)
  open.push(cluster)
  return cluster
}

const WHY = HAS_CLUSTERS ? '' : ' (Postgres 15 is not installed; run: apt-get install postgresql-15)'

describe.runIf(runsWith(HAS_CLUSTERS))(`readers miss and repeat nothing after${WHY}`, () => {
  let serving: Cluster
  let line: Line
  let archive: TempDir
  let store: Store
  let receiver: Receiver
  let broker: TestBroker | undefined
  let folder: TempDir
  let accountId: number
  /** Reads the database as a daemon does at its start. */
  let look: () => Promise<void>

  /** A program that follows the feed and keeps the names of activities. */
  const reader = { last: 0, names: new Map<string, unknown>(), numbers: new Map<number, string>() }
  const readFeed = async () => {
    const input = { since: reader.last, follow: false, signal: new AbortController().signal }
    for await (const page of readChanges({ store, databaseUrl: line.url, log }, input)) {
      for (const { changeId, kind, path, detail, at } of page) {
        expect(reader.numbers.get(changeId) ?? at).toBe(at)
        reader.numbers.set(changeId, at)
        if (kind === 'restored' && reader.last > Number(detail.up_to)) reader.names = await namesNow()
        else if (kind === 'activity.new') reader.names.set(path ?? '', detail.name)
        else if (kind === 'activity.changed' && Array.isArray(detail.name))
          reader.names.set(path ?? '', detail.name[1])
        reader.last = changeId
      }
    }
  }
  const namesNow = async () => {
    const rows = await queryOnce(line.url, 'select path, name from training.activities')
    return new Map(rows.map(({ path, name }) => [String(path), name]))
  }
  const dir = () => join(folder.path, 'export')
  /** Returns the ids of the messages about an event. */
  const idsOf = (type: string, path?: string) =>
    receiver.received
      .filter(({ text }) => {
        const message = JSON.parse(text)
        return message.type === type && (path === undefined || message.data.path === path)
      })
      .map(({ headers }) => headers['webhook-id'])
  const eventsOf = (path: string) =>
    broker?.seen.filter(({ topic, text }) => topic.endsWith('/event') && JSON.parse(text).path === path) ?? []
  const consume = async (path: string) => {
    await readFeed()
    await exportAll({ store, log }, { dir: dir(), kind: 'schedule' })
    await eventually(() => idsOf('activity.new', path).length > 0, {
      ...OFTEN,
      what: `the message about ${path}`,
    })
    if (broker) await eventually(() => eventsOf(path).length > 0, { ...OFTEN, what: `the event of ${path}` })
  }
  const write = (path: string) => mirror(store, { accountId, paths: [path] })

  beforeAll(async () => {
    archive = await openTempDir('archive')
    open.push(archive)
    await chmod(archive.path, 0o777)
    const archiving = `archive_mode = on\narchive_command = 'cp %p ${archive.path}/%f'\n`
    serving = await openOne({ settings: archiving })
    await serving.query(`create database ${MIRROR}`)
    line = await openLine(urlOf(serving))
    open.push(line)
    await migrate({ connectionString: line.url, log })
    store = openStore({ log }, { connectionString: line.url })
    open.push(store)
    accountId = await makeSignedIn(store)
    folder = await openTempDir('readers')
    open.push(folder)
    receiver = await openReceiver()
    open.push(receiver)
    const file = { path: '', webhooks: [makeWebhook(receiver.url)], isReadableByOthers: false }
    const pauses = { ...PAUSES, lookEveryMs: 50 }
    const deps = { store, log, conditions: async () => [] }
    open.push(await openWebhooks(deps, { file, pauses }))
    broker = mosquitto ? await openMosquitto() : undefined
    if (broker) open.push(broker)
    const config = readConfig({
      ...{ DATABASE_URL: line.url, MUSETTE_DATA_DIR: folder.path, MUSETTE_MQTT_PASSWORD: PASSWORD },
      ...(broker && { MUSETTE_MQTT_URL: `mqtt://${USER}@127.0.0.1:${broker.ports.mqtt}` }),
    })
    look = async () => (await openDatabaseWatch({ store, log, config })).close()
    const options = mqttSettings.of(config)
    if (!options) return
    const own = { findBackupTime: async () => null, poll: async () => undefined }
    open.push(openPublisher({ store, log, databaseUrl: line.url, ...own }, { broker: options, pauses: SOON }))
    await eventually(() => broker?.seen.some(({ text }) => text === 'online'), OFTEN)
  })
  afterAll(async () => {
    for (const one of open.reverse()) await one.close()
  })

  it.each(SITUATIONS)('%s', async (name, cause, prepare) => {
    const restored = idsOf('mirror.restored').length
    const [kept, lost, next] = [`kept ${name}`, `lost ${name}`, `next ${name}`]
    await write(kept)
    const goOn = await prepare(serving, archive.path)
    await write(lost)
    await list(store, { accountId, paths: [kept], name: 'Lost' })
    await consume(lost)
    await look()
    serving = await goOn()
    line.moveTo(urlOf(serving))
    const connected = () => store.read(async () => true)
    await eventually(connected, { what: 'the store is connected again' })
    expect((await namesNow()).has(lost)).toBe(false)
    // Postgres does not report this case, so no trigger notices it.
    if (cause === 'earlier') await look()
    await write(lost)
    await list(store, { accountId, paths: [kept], name: 'Lost' })
    await write(next)
    await consume(next)
    expect(Object.fromEntries(reader.names)).toEqual(Object.fromEntries(await namesNow()))
    expect(reader.names.get(kept)).toBe('Lost')
    const { signal } = new AbortController()
    expect((await checkExport({ store }, { dir: dir(), signal })).faults).toEqual([])
    const causes = `select detail ->> 'cause' as cause from training.changes where kind = 'restored' order by change_id desc limit 1`
    expect(await queryOnce(line.url, causes)).toEqual([{ cause }])
    await eventually(() => idsOf('mirror.restored').length > restored, OFTEN)
    expect(idsOf('mirror.restored')).toHaveLength(restored + 1)
    for (const path of [kept, lost, next]) {
      expect(new Set(idsOf('activity.new', path)).size, path).toBe(1)
      if (broker) expect(eventsOf(path), path).toHaveLength(1)
    }
    // More new activities within minutes would share one message.
    await queryOnce(
      line.url,
      `update training.activities set first_seen_at = first_seen_at - interval '1 hour'`,
    )
  })
})
