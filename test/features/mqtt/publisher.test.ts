import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { collectGarbage } from '../../../src/core/service/transport.ts'
import { openBroker } from '../../../src/features/mqtt/broker.ts'
import { topicsOf } from '../../../src/features/mqtt/entities.ts'
import { openPublisher } from '../../../src/features/mqtt/publisher.ts'
import { type BrokerOptions, mqttSettings } from '../../../src/features/mqtt/settings.ts'
import { errorLine } from '../../../src/kit/errors.ts'
import { VERSION } from '../../../src/kit/program-folder.ts'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { findStatus } from '../../../src/program/frame/findings/status-report.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { errorOf } from '../../core/service/open-test-service.ts'
import { findBinary, runsWith } from '../../kit/binaries.ts'
import { makeCertificates } from '../../kit/certificates.ts'
import { withSettings } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openHold } from '../../kit/postgres.ts'
import { openLine } from '../../kit/postgres-line.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { diagnose } from '../../program/doctor/rig.ts'
import { mosquitto, openMosquitto, openOldBroker, PASSWORD, PAUSES, USER } from './mosquitto.ts'

// A change is published once no older transaction runs on the whole server, including those of other tests.
const OFTEN = { everyMs: 50 }
const LOOKED = 'select looked_at::text as at from musette.mqtt_publisher'

describe.runIf(runsWith(mosquitto))('the MQTT publisher, with mosquitto', () => {
  const hasTls = findBinary(['openssl']) !== undefined
  const certificates = openForAll(() => openTempDir('mqtt-tls'))
  const broker = openForAll(async () => {
    if (hasTls) await makeCertificates(certificates.path)
    return openMosquitto(hasTls ? certificates.path : undefined)
  })
  const rig = openForAll(() =>
    openRig({
      activities: 5,
      env: {
        MUSETTE_MQTT_URL: `mqtt://${USER}@127.0.0.1:${broker.ports.mqtt}`,
        MUSETTE_MQTT_PASSWORD: PASSWORD,
        MUSETTE_MQTT_COMMANDS: 'true',
      },
    }),
  )
  let options: BrokerOptions
  let id: string
  const polled: number[] = []
  beforeAll(async () => {
    options = mqttSettings.of(rig.app.config) as BrokerOptions
    await syncAccount(rig.app, { name: 'default', training: true })
  })

  const open = (change: Partial<BrokerOptions> = {}, databaseUrl = rig.databaseUrl) => {
    const publisher = openPublisher(
      {
        store: rig.app.store,
        log: rig.app.log,
        databaseUrl,
        findBackupTime: async () => new Date('2026-01-02T03:04:05Z'),
        poll: async (accountId) => void polled.push(accountId),
      },
      { broker: { ...options, ...change }, pauses: PAUSES },
    )
    onTestFinished(() => publisher.close())
    return publisher
  }
  const topics = () => topicsOf(id, rig.account.accountId)
  const newest = (topic: string) => broker.seen.findLast((message) => message.topic === topic)?.text
  const stateOf = () => JSON.parse(newest(topics().state) ?? '{}')
  const press = (topic: string, retain = false) =>
    broker.client.publishAsync(topic, 'PRESS', { qos: 1, retain })
  const isOnline = () =>
    broker.seen.some(({ topic, text }) => /availability$/.test(topic) && text === 'online')
  /** Waits until a publisher opened after the reset of `broker.seen` is connected. */
  const connected = async () => {
    await eventually(isOnline, OFTEN)
    const [row] = await rig.rows('select publisher_id from musette.mqtt_publisher')
    id = String(row?.publisher_id)
  }
  /** Makes the publisher publish everything again, as Home Assistant does when it starts. */
  const askForAll = async () => {
    broker.seen.length = 0
    await broker.client.publishAsync('homeassistant/status', 'online', { qos: 1 })
    await eventually(isOnline, OFTEN)
  }

  it('publishes a device per account, changes only, and all when Home Assistant starts', async () => {
    broker.seen.length = 0
    const publisher = open()
    await connected()
    const second = open()
    const { device, components } = JSON.parse(newest(topics().config) ?? '{}')
    expect(device).toMatchObject({ name: 'musette', sw_version: VERSION })
    const state = stateOf()
    for (const [key, { platform }] of Object.entries(components as Record<string, { platform: string }>))
      if (platform.endsWith('sensor')) expect(state, key).toHaveProperty(key)
    const [info] = await rig.rows('select * from training.training_info order by observed_at desc limit 1')
    const [last] = await rig.rows(
      'select *, elapsed_s::float8 as seconds from training.activities order by started_at desc limit 1',
    )
    expect(state).toMatchObject({
      ...{ status: info?.status, ftp: info?.ftp, hie: info?.hie, tl_total: info?.tl_total },
      ...{ target_total: info?.target_total, workout: info?.wotd_name ?? null },
      ...{ activity: last?.name, activity_xss: last?.xss, activity_seconds: last?.seconds },
      ...{ needs_login: false, files_waiting: 0, backup_at: '2026-01-02T03:04:05.000Z' },
    })
    expect(state.rl_total).toBeGreaterThan(0)
    expect((await findStatus(rig.app)).features.mqtt).toMatchObject({ connected: true, problem: null })
    expect(await diagnose('mqtt', rig.app)).toMatchObject([{ state: 'ok' }, { state: 'ok' }])

    const before = broker.seen.length
    // It looks twice and publishes nothing, and neither does the other process.
    for (const _ of [1, 2]) {
      const [{ at } = {}] = await rig.rows(LOOKED)
      await eventually(async () => (await rig.rows(LOOKED))[0]?.at !== at, OFTEN)
    }
    expect(broker.seen.slice(before)).toEqual([])
    for (const [index, lost] of [true, false].entries()) {
      await rig.rows(`update training.accounts set needs_login = ${lost}`)
      await eventually(() => stateOf().needs_login === lost, OFTEN)
      const sent = broker.seen.slice(before).filter(({ topic }) => !topic.endsWith('/event'))
      expect(sent).toHaveLength(index + 1)
    }
    await askForAll()
    const sent = broker.seen.map(({ topic }) => topic)
    for (const topic of [topics().config, topics().state, topics().workout, topics().activity])
      expect(sent.filter((one) => one === topic)).toHaveLength(1)

    broker.seen.length = 0
    await publisher.close()
    await connected()
    await second.close()
    await eventually(() => newest(topics().availability) === 'offline', OFTEN)
  })

  it('publishes in time after a lost change listener, and at the start of the week', async () => {
    broker.seen.length = 0
    const line = await openLine(rig.databaseUrl)
    onTestFinished(() => line.close())
    open({}, line.url)
    const collecting = setInterval(collectGarbage, 50)
    onTestFinished(() => clearInterval(collecting))
    await connected()
    line.become('cut')
    // Each zone moves the rider's Monday before or after now, as midnight does.
    for (const zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
      await rig.rows('update training.accounts set timezone = $1', [zone])
      const [row] = await rig.rows(
        `select to_char(date_trunc('week', now() at time zone $1) at time zone $1 at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as monday`,
        [zone],
      )
      await eventually(() => stateOf().week_started_at === row?.monday, OFTEN)
    }
    await rig.rows('update training.accounts set timezone = null')
  })

  it('loses no event or state in an outage, even if the broker forgets everything', async () => {
    broker.seen.length = 0
    open()
    await connected()
    await broker.stop()
    await eventually(async () => {
      const [row] = await rig.rows('select problem from musette.mqtt_publisher')
      return row?.problem ?? undefined
    }, OFTEN)
    const [finding] = await diagnose('mqtt', rig.app)
    expect(finding).toMatchObject({ state: 'problem', found: expect.stringContaining('cannot be used') })
    await rig.steer('POST', 'activities', { path: 'fresh', name: 'Fresh', seconds: 600 })
    await syncAccount(rig.app, { name: 'default' })
    broker.seen.length = 0
    // An event is not retained, so none may be published before the test's client has subscribed again.
    const hold = await openHold(
      rig.databaseUrl,
      'LOCK TABLE musette.lock_mqtt IN SHARE UPDATE EXCLUSIVE MODE',
    )
    await broker.start()
    await hold.close()
    await eventually(() => stateOf().activity === 'Fresh', OFTEN)
    const events = await eventually(() => {
      const found = broker.seen.filter(({ topic, retain }) => topic === topics().event && !retain)
      return found.length > 0 ? found : undefined
    }, OFTEN)
    const mine = events?.map(({ text }) => JSON.parse(text)).filter(({ path }) => path === 'fresh')
    const about = {
      at: expect.any(String),
      name: 'Fresh',
      xss: expect.any(Number),
      elapsed_s: expect.any(Number),
    }
    expect(mine).toMatchObject([{ event_type: 'activity.new', ...about }])
    const logged = rig.log.lines.filter(({ msg }) => String(msg).includes('growing pauses'))
    expect(logged.length).toBeLessThan(4)
  })

  it('is offline by its MQTT will after a kill', async () => {
    // As if the process were killed: the connection ends without a DISCONNECT.
    const other = await openBroker(options, {
      clientId: 'twin',
      will: { topic: 'musette/test/will', payload: 'gone' },
    })
    const twin = await openBroker(options, { clientId: 'twin' })
    await eventually(() => newest('musette/test/will') === 'gone', OFTEN)
    await eventually(() => other.lost.aborted, OFTEN)
    await twin.close()
  })

  it('polls by the button only if commands are on, and never by a retained command', async () => {
    polled.length = 0
    broker.seen.length = 0
    await press(topics().poll, true)
    const publisher = open()
    await connected()
    await press(topics().poll.replace(/\d+\/poll$/, '999/poll'))
    await press(topics().poll)
    await eventually(() => polled.length > 0, OFTEN)
    await publisher.close()
    broker.seen.length = 0
    open({ commands: false })
    await connected()
    expect(JSON.parse(newest(topics().config) ?? '{}').components).not.toHaveProperty('poll')
    await press(topics().poll)
    await askForAll()
    expect(polled).toEqual([rig.account.accountId])
    await broker.client.publishAsync(topics().poll, '', { qos: 1, retain: true })
  })

  it.each<[string, (options: BrokerOptions) => Partial<BrokerOptions>, string]>([
    ['a wrong password', () => ({ password: 'hunter2-secret' }), 'refuses the user or the password'],
    ['an address of nothing', () => ({ url: 'mqtt://rider@127.0.0.1:9' }), 'ECONNREFUSED'],
    ['TLS where there is none', ({ url }) => ({ url: url.replace('mqtt:', 'mqtts:') }), 'cannot be used'],
  ])('reports %s in one sentence without the password', async (_, change, sentence) => {
    const changed = { ...options, ...change(options) }
    const failure = await openBroker(changed).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'mqtt_unreachable', message: expect.stringContaining(sentence) })
    expect(JSON.stringify([failure, String(failure), rig.log.lines])).not.toMatch(/hunter2|p@ss/)
    const config = withSettings(rig.app.config, mqttSettings, changed)
    const [finding] = await diagnose('mqtt', { ...rig.app, config })
    expect(finding).toMatchObject({ state: 'problem', found: expect.stringContaining(sentence) })
  })

  const config = 'homeassistant/device/musette_1_1/config'
  it.each<[string, Parameters<typeof openMosquitto>[1], string]>([
    [
      'its access list denies homeassistant/#',
      { acl: 'topic readwrite musette/#' },
      `it refuses ${config}: Not authorized`,
    ],
    [
      'its messages are limited',
      { lines: ['message_size_limit 200'] },
      'it refuses a message: Packet too large',
    ],
    [
      'its packets are limited',
      { lines: ['max_packet_size 200'] },
      'it closed the connection: Packet too large',
    ],
  ])('names the reason why a broker refuses a message: %s', async (_, limits, reason) => {
    const strict = await openMosquitto(undefined, limits)
    onTestFinished(() => strict.close())
    const url = `mqtt://${USER}@127.0.0.1:${strict.ports.mqtt}`
    const opened = await openBroker({ ...options, url })
    onTestFinished(() => opened.close())
    const failure = await errorOf(opened.publish(config, 'x'.repeat(1_000), { retain: true }))
    const message = `the MQTT broker at 127.0.0.1:${strict.ports.mqtt} cannot be used: ${reason}`
    expect(failure).toMatchObject({ code: 'mqtt_unreachable', message: expect.stringContaining(message) })
    await opened.publish('musette/x', '1', { retain: false }).catch(() => undefined)
  })

  it('reports another connection with its client id, if the broker says so', async () => {
    const connack = Buffer.from([0x20, 3, 0, 0, 0])
    const disconnect = Buffer.from([0xe0, 2, 0x8e, 0])
    const taken = createServer((socket) =>
      socket.once('data', () => socket.end(Buffer.concat([connack, disconnect]))),
    )
    onTestFinished(() => void taken.close())
    await once(taken.listen(0, '127.0.0.1'), 'listening')
    const { port } = taken.address() as AddressInfo
    const failure = await errorOf(openBroker({ ...options, url: `mqtt://${USER}@127.0.0.1:${port}` }))
    expect(failure.message).toContain('another connection has its client id (Session taken over)')
  })

  it('works with the documented access list', async () => {
    const acl = readFileSync('docs/recipes.md', 'utf8').match(/^ +topic (read|write|readwrite) .*$/gm) ?? []
    expect(acl).toHaveLength(3)
    // The client of the test may read everything.
    const strict = await openMosquitto(undefined, { acl: [...acl, 'topic read #'].join('\n') })
    onTestFinished(() => strict.close())
    broker.seen.length = 0
    open({ url: `mqtt://${USER}@127.0.0.1:${strict.ports.mqtt}` })
    await eventually(() => strict.seen.some(({ text }) => text === 'online'), OFTEN)
    expect(strict.seen.map(({ topic }) => topic)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^homeassistant\/device\//),
        expect.stringMatching(/^musette\//),
      ]),
    )
  })

  it('works with a broker that supports only MQTT 3.1.1', async () => {
    const { port, levels } = await openOldBroker(broker.ports.mqtt)
    const opened = await openBroker({ ...options, url: `mqtt://${USER}@127.0.0.1:${port}` })
    await opened.publish('musette/old', 'works', { retain: false })
    await opened.close()
    await eventually(() => newest('musette/old') === 'works', OFTEN)
    expect(levels).toEqual([5, 4])
    const failure = await errorOf(
      openBroker({ ...options, password: 'wrong', url: `mqtt://${USER}@127.0.0.1:${port}` }),
    )
    expect(failure.message).toContain('refuses the user or the password')
  })

  it('removes the device of a signed-out account, and shows it again after a login', async () => {
    broker.seen.length = 0
    open()
    await connected()
    const retained = () => [topics().config, topics().state, topics().workout, topics().activity].map(newest)
    await eventually(() => retained().every((text) => text), OFTEN)
    const login = await rig.rows('delete from musette.credentials returning *')
    await eventually(() => retained().every((text) => text === ''), OFTEN)
    await askForAll()
    expect(retained()).toEqual(['', '', '', ''])
    const columns = Object.keys(login[0] ?? {})
    const values = columns.map((_, index) => `$${index + 1}`)
    await rig.rows(
      `insert into musette.credentials (${columns}) values (${values})`,
      Object.values(login[0] ?? {}),
    )
    await eventually(() => retained().every((text) => text), OFTEN)
  })

  it.runIf(hasTls).each(['mqtts', 'wss'] as const)(
    'connects over %s with a private CA and a client certificate',
    async (protocol) => {
      const read = (name: string) => readFile(join(certificates.path, name), 'utf8')
      const [ca, cert, key] = await Promise.all(['ca.crt', 'server.crt', 'server.key'].map(read))
      const url = `${protocol}://${USER}@localhost:${broker.ports[protocol]}`
      const whole = { url, password: PASSWORD, ca, cert, key, commands: false }
      const opened = await openBroker(whole)
      await opened.publish('musette/x', '1', { retain: false })
      await opened.close()
      await expect(openBroker({ ...whole, ca: undefined })).rejects.toThrow('cannot be used')
      const without = await openBroker({ ...whole, cert: undefined, key: undefined }).catch(errorLine)
      expect(without).toMatch(/cannot be used: TLS failed \([a-z0-9 ]+\)$/)
    },
  )
})
