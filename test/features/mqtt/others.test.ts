import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lineTopicOf, topicsOf } from '../../../src/features/mqtt/entities.ts'
import { openPublisher } from '../../../src/features/mqtt/publisher.ts'
import { type BrokerOptions, mqttSettings } from '../../../src/features/mqtt/settings.ts'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { runsWith } from '../../kit/binaries.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { startNode } from '../../kit/processes.ts'
import { diagnose } from '../../program/doctor/rig.ts'
import { mosquitto, openMosquitto, openOldBroker, PASSWORD, PAUSES, USER } from './mosquitto.ts'

const OFTEN = { everyMs: 50 }
const READER = fileURLToPath(new URL('reader-child.ts', import.meta.url))
const LARGE_MB = 60
/** Maximum growth of memory, MB: what the program itself needs, far less than the message. */
const GROWTH_MB = 40

describe.runIf(runsWith(mosquitto))('other clients of the broker', () => {
  const broker = openForAll(openMosquitto)
  const env = () => ({
    MUSETTE_MQTT_URL: `mqtt://${USER}@127.0.0.1:${broker.ports.mqtt}`,
    MUSETTE_MQTT_PASSWORD: PASSWORD,
    MUSETTE_MQTT_COMMANDS: 'true',
  })
  const rig = openForAll(() => openRig({ activities: 1, env: env() }))

  const open = async (at: Rig, polled: number[] = []) => {
    await syncAccount(at.app, { name: 'default', training: true })
    const publisher = openPublisher(
      {
        ...{ store: at.app.store, log: at.app.log, databaseUrl: at.databaseUrl },
        findBackupTime: async () => null,
        poll: async (accountId) => void polled.push(accountId),
      },
      { broker: mqttSettings.of(at.app.config) as BrokerOptions, pauses: PAUSES },
    )
    onTestFinished(() => publisher.close())
    return publisher
  }
  const connected = async (at: Rig) => {
    await eventually(
      () => broker.seen.some(({ topic, text }) => /availability$/.test(topic) && text === 'online'),
      OFTEN,
    )
    const [row] = await at.rows('select publisher_id::text as id from musette.mqtt_publisher')
    return String(row?.id)
  }

  it.each([
    ['MQTT 5', false],
    ['MQTT 3.1.1', true],
  ])(
    'cannot fill the memory with a retained message of 60 MB by %s',
    { timeout: 60_000 },
    async (_, isOld) => {
      const publish = (topic: string, text: string | Buffer, retain: boolean) =>
        broker.client.publishAsync(topic, text, { qos: 1, retain })
      const port = isOld ? (await openOldBroker(broker.ports.mqtt)).port : broker.ports.mqtt
      await broker.client.unsubscribeAsync('#')
      onTestFinished(() => void broker.client.subscribeAsync('#'))
      await publish('homeassistant/status', Buffer.alloc(LARGE_MB * 1_000_000, 'x'), true)
      const child = startNode(['--import', 'tsx', READER, `mqtt://${USER}@127.0.0.1:${port}`, PASSWORD])
      onTestFinished(() => void child.kill('SIGKILL'))
      await eventually(() => child.stdout().includes('ready'), OFTEN)
      await publish('musette/end/poll', 'PRESS', false)
      await child.finished
      await publish('homeassistant/status', '', true)
      const [, grew] = /grew (\d+)/.exec(child.stdout()) ?? []
      expect(Number(grew ?? Number.NaN)).toBeLessThan(GROWTH_MB)
    },
  )

  it('cause one poll, one log line and no queries with a burst of presses', async () => {
    broker.seen.length = 0
    const polled: number[] = []
    await open(rig, polled)
    const id = await connected(rig)
    const { poll } = topicsOf(id, rig.account.accountId)
    let reads = 0
    const { read } = rig.app.store
    Object.assign(rig.app.store, {
      read: (...given: Parameters<typeof read>) => {
        reads += 1
        return read(...given)
      },
    })
    onTestFinished(() => void Object.assign(rig.app.store, { read }))
    const topics = Array.from({ length: 1_000 }, (_, index) => [poll, `musette/musette_${index}_1/poll`])
    for (const topic of topics.flat()) broker.client.publish(topic, 'PRESS')
    await broker.client.publishAsync('homeassistant/status', 'online', { qos: 1 })
    await eventually(() => broker.seen.filter(({ text }) => text === 'online').length > 2, OFTEN)
    expect(polled).toEqual([rig.account.accountId])
    expect(rig.log.lines.filter(({ msg }) => msg === 'mqtt: a poll was requested')).toHaveLength(1)
    expect(reads).toBeLessThan(100)
  })

  it('with a copy of the database wait until the first daemon stops, and say so', async () => {
    const copy = await openRig({ activities: 1, env: env() })
    onTestFinished(() => copy.close())
    await rig.rows('insert into musette.mqtt_publisher (change_id) values (0) on conflict do nothing')
    const [row] = await rig.rows('select publisher_id::text as id from musette.mqtt_publisher')
    await copy.rows('insert into musette.mqtt_publisher (change_id, publisher_id) values (0, $1)', [row?.id])
    await copy.rows(`select musette.begin_line('copy')`)
    broker.seen.length = 0
    const original = await open(rig)
    const id = await connected(rig)
    const logged = rig.log.lines.length
    await open(copy)
    const [finding] = await eventually(async () => {
      const found = await diagnose('mqtt', copy.app)
      return (
        found.some((each) => each.found.includes('another daemon publishes these devices')) && found.slice(1)
      )
    }, OFTEN)
    expect(finding).toMatchObject({ state: 'warning', run: 'musette config' })
    const config = topicsOf(id, 1).config
    expect(broker.seen.filter(({ topic }) => topic === config)).toHaveLength(1)
    expect(broker.seen.filter(({ text }) => text === 'offline')).toEqual([])
    const complaints = rig.log.lines.slice(logged).filter(({ level }) => level === 'warn')
    expect(complaints).toEqual([])

    const [{ line } = {}] = await copy.rows('select line::text from training.database')
    await original.close()
    const said = (topic: string, text: unknown) =>
      broker.seen.findLast((message) => message.topic === topic)?.text === text
    await eventually(() => said(lineTopicOf(id), line) && said(topicsOf(id, 1).availability, 'online'), OFTEN)
    expect(broker.seen.filter(({ topic }) => topic === config)).toHaveLength(2)
  })
})
