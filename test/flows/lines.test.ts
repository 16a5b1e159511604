import { writeFile } from 'node:fs/promises'
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
import { mosquitto, openMosquitto, PASSWORD, type TestBroker, USER } from '../features/mqtt/mosquitto.ts'
import { makeWebhook } from '../features/webhooks/receiver.ts'
import { list, makeSignedIn, mirror } from '../features/webhooks/scene.ts'
import { readConfig } from '../kit/config.ts'
import { eventually } from '../kit/eventually.ts'
import { makeSilentLog } from '../kit/log.ts'
import { queryOnce } from '../kit/postgres.ts'
import { HAS_CLUSTERS } from '../kit/postgres-cluster.ts'
import { openReceiver, type Receiver } from '../kit/receiver.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'
import { openClusters } from './lines.ts'

const log = makeSilentLog()
const OFTEN = { everyMs: 50 }
const SOON = { lookEveryMs: 100, lockRetryMs: 100, backoff: { firstMs: 100, factor: 1, maxMs: 100 } }

/** How a database comes to go on elsewhere, or from an earlier moment: `before` what is lost is written, and after it. */
type Situation = {
  cause: string
  before(clusters: Clusters): Promise<void>
  after(clusters: Clusters): Promise<void>
}
type Clusters = Awaited<ReturnType<typeof openClusters>>

/** Each goes on from the one before. */
const SITUATIONS: ReadonlyArray<[name: string, situation: Situation]> = [
  [
    'a promoted replica that lacks the last commits',
    {
      cause: 'timeline',
      async before({ copy, startLate }) {
        await copy('second', '-R')
        await startLate('second')
      },
      async after({ stop, promote }) {
        await stop()
        await promote('second')
      },
    },
  ],
  [
    'the old one, back as its standby and promoted',
    {
      cause: 'timeline',
      async before({ rewind, startLate, former }) {
        await rewind(former())
        await startLate(former())
      },
      async after({ stop, promote, former }) {
        const name = former()
        await stop()
        await promote(name)
      },
    },
  ],
  [
    'a point in time',
    {
      cause: 'timeline',
      async before({ copy, url, dir, archive }) {
        await copy('third')
        await queryOnce(url, `select pg_create_restore_point('before')`)
        const recovery = [`restore_command = 'cp ${archive}/%f %p'`, `recovery_target_name = 'before'`]
        await writeFile(join(dir('third'), 'recovery.signal'), '')
        const settings = join(dir('third'), 'postgresql.auto.conf')
        await writeFile(settings, `${recovery.join('\n')}\nrecovery_target_action = 'promote'\n`)
      },
      async after({ url, stop, start }) {
        await queryOnce(url, 'select pg_switch_wal()')
        const archived =
          'select from pg_stat_archiver where last_archived_wal >= pg_walfile_name(pg_switch_wal())'
        await eventually(async () => (await queryOnce(url, archived)).length > 0, {
          what: 'the archive has all',
        })
        await stop()
        await start('third')
        const recovers = async () =>
          (await queryOnce(url, 'select pg_is_in_recovery() as recovers'))[0]?.recovers
        await eventually(async () => (await recovers()) === false, { what: 'it is promoted' })
      },
    },
  ],
  [
    'pg_basebackup, which Postgres starts on the same timeline',
    {
      cause: 'earlier',
      before: ({ copy }) => copy('fourth'),
      async after({ stop, start }) {
        await stop()
        await start('fourth')
      },
    },
  ],
  [
    'pg_dump',
    {
      cause: 'copy',
      before: ({ run, url, archive }) => run('pg_dump', '-Fc', '-f', join(archive, 'dump'), url),
      async after({ run, url, otherDatabase, archive }) {
        await queryOnce(url, 'create database restored')
        await run('pg_restore', '--exit-on-error', '-d', otherDatabase('restored'), join(archive, 'dump'))
        await queryOnce(otherDatabase('postgres'), 'drop database mirror with (force)')
        await queryOnce(otherDatabase('postgres'), 'alter database restored rename to mirror')
      },
    },
  ],
]

const WHY = HAS_CLUSTERS ? '' : ' (Postgres 15 is not installed; run: apt-get install postgresql-15)'

describe.skipIf(!HAS_CLUSTERS)(`readers miss and double nothing after${WHY}`, () => {
  let clusters: Clusters
  let store: Store
  let receiver: Receiver
  let broker: TestBroker | undefined
  let folder: TempDir
  let accountId: number
  /** Looks at the database as a daemon does at its start. */
  let look: () => Promise<void>
  const open: Array<{ close(): Promise<unknown> }> = []

  /** A program that follows the feed, and keeps the names of activities. */
  const reader = { last: 0, names: new Map<string, unknown>(), numbers: new Map<number, string>() }
  const readFeed = async () => {
    const input = { since: reader.last, follow: false, signal: new AbortController().signal }
    for await (const page of readChanges({ store, databaseUrl: clusters.url, log }, input)) {
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
    const rows = await queryOnce(clusters.url, 'select path, name from training.activities')
    return new Map(rows.map(({ path, name }) => [String(path), name]))
  }
  const dir = () => join(folder.path, 'export')
  /** The ids of the messages about an event, one an item. */
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
    clusters = await openClusters()
    open.push(clusters)
    await clusters.start('first')
    await queryOnce(clusters.otherDatabase('postgres'), 'create database mirror')
    await migrate({ connectionString: clusters.url, log })
    store = openStore({ log }, { connectionString: clusters.url })
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
      ...{ DATABASE_URL: clusters.url, MUSETTE_DATA_DIR: folder.path, MUSETTE_MQTT_PASSWORD: PASSWORD },
      ...(broker && { MUSETTE_MQTT_URL: `mqtt://${USER}@127.0.0.1:${broker.ports.mqtt}` }),
    })
    look = async () => (await openDatabaseWatch({ store, log, config })).close()
    const options = mqttSettings.of(config)
    if (!options) return
    const own = { findBackupTime: async () => null, poll: async () => undefined }
    open.push(
      openPublisher({ store, log, databaseUrl: clusters.url, ...own }, { broker: options, pauses: SOON }),
    )
    await eventually(() => broker?.seen.some(({ text }) => text === 'online'), OFTEN)
  })
  afterAll(async () => {
    for (const one of open.reverse()) await one.close()
  })

  it.each(SITUATIONS)('%s', async (name, { cause, before, after }) => {
    const restored = idsOf('mirror.restored').length
    const [kept, lost, next] = [`kept ${name}`, `lost ${name}`, `next ${name}`]
    await write(kept)
    await before(clusters)
    await write(lost)
    await list(store, { accountId, paths: [kept], name: 'Lost' })
    await consume(lost)
    await look()
    await after(clusters)
    expect((await namesNow()).has(lost)).toBe(false)
    const connected = () => store.read(async () => true)
    await eventually(connected, { what: 'the store is connected again' })
    // Postgres does not tell it, and so no trigger can.
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
    expect(await queryOnce(clusters.url, causes)).toEqual([{ cause }])
    await eventually(() => idsOf('mirror.restored').length > restored, OFTEN)
    expect(idsOf('mirror.restored')).toHaveLength(restored + 1)
    for (const path of [kept, lost, next]) {
      expect(new Set(idsOf('activity.new', path)).size, path).toBe(1)
      if (broker) expect(eventsOf(path), path).toHaveLength(1)
    }
    // More new ones within minutes become one message.
    await queryOnce(
      clusters.url,
      `update training.activities set first_seen_at = first_seen_at - interval '1 hour'`,
    )
  })
})
