import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connectAsync, type MqttClient } from 'mqtt'
import { findBinary } from '../../kit/binaries.ts'
import { eventually } from '../../kit/eventually.ts'
import { findFreePort } from '../../kit/listen.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

export const mosquitto = findBinary(['mosquitto', '/usr/sbin/mosquitto']) ?? findBinary(['../sbin/mosquitto'])
export const WITHOUT_MOSQUITTO = 'mosquitto is not installed; run: apt-get install mosquitto'

export const USER = 'rider'
export const PASSWORD = 'p@ss/word?'

/** A message as the broker passed it on. */
export type Seen = { topic: string; text: string; retain: boolean }

export type TestBroker = {
  /** the port of each protocol; those of TLS are there with `tls` */
  ports: Record<'mqtt' | 'ws' | 'mqtts' | 'wss', number>
  /** everything that was published, in order, as a client that subscribes to all of it sees it */
  seen: Seen[]
  client: MqttClient
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

/** Opens a real broker that wants a password; with `tls`, a folder with ca.crt, server.crt and server.key, it also speaks TLS. */
export async function openMosquitto({ tls }: { tls?: string } = {}): Promise<TestBroker> {
  const temp = await openTempDir('mosquitto')
  const [mqtt = 0, ws = 0, mqtts = 0, wss = 0] = await Promise.all(Array.from({ length: 4 }, findFreePort))
  const passwords = join(temp.path, 'passwords')
  await promisify(execFile)('mosquitto_passwd', ['-b', '-c', passwords, USER, PASSWORD])
  const files = [`cafile ${tls}/ca.crt`, `certfile ${tls}/server.crt`, `keyfile ${tls}/server.key`]
  const secured = [...files, 'require_certificate true']
  const config = [
    ...[`listener ${mqtt} 127.0.0.1`, `listener ${ws} 127.0.0.1`, 'protocol websockets'],
    ...(tls ? [`listener ${mqtts} 127.0.0.1`, ...secured] : []),
    ...(tls ? [`listener ${wss} 127.0.0.1`, 'protocol websockets', ...secured] : []),
    ...['allow_anonymous false', `password_file ${passwords}`],
    ...(process.getuid?.() === 0 ? ['user root'] : []),
  ]
  await writeFile(join(temp.path, 'mosquitto.conf'), `${config.join('\n')}\n`)
  const seen: Seen[] = []
  const login = { username: USER, password: PASSWORD, reconnectPeriod: 0 }
  const start = async () => {
    const broker = spawn(mosquitto ?? '', ['-c', join(temp.path, 'mosquitto.conf')], { stdio: 'ignore' })
    const connected = () => connectAsync(`mqtt://127.0.0.1:${mqtt}`, login).catch(() => undefined)
    const client = await eventually(connected, { everyMs: 100 })
    client.on('error', () => undefined)
    client.on('message', (topic, payload, { retain }) => seen.push({ topic, text: String(payload), retain }))
    await client.subscribeAsync(['#'], { qos: 1 })
    return { broker, client }
  }
  let running = await start()
  const stop = async () => {
    const { broker, client } = running
    await client.endAsync(true)
    const ended = broker.exitCode === null && broker.signalCode === null ? once(broker, 'exit') : undefined
    broker.kill('SIGKILL')
    await ended
  }
  return {
    ports: { mqtt, ws, mqtts, wss },
    seen,
    get client() {
      return running.client
    },
    async start() {
      running = await start()
    },
    stop,
    async close() {
      await stop()
      await temp.close()
    },
  }
}
