import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connectAsync, type MqttClient } from 'mqtt'
import { findBinary } from '../../kit/binaries.ts'
import { eventually } from '../../kit/eventually.ts'
import { listen } from '../../kit/listen.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

export const mosquitto = findBinary(['mosquitto', '/usr/sbin/mosquitto']) ?? findBinary(['../sbin/mosquitto'])
export const WITHOUT_MOSQUITTO = 'mosquitto is not installed; run: apt-get install mosquitto'

export const USER = 'rider'
export const PASSWORD = 'p@ss/word?'

/** A message as the broker passed it on. */
export type Seen = { topic: string; text: string; retain: boolean }

export type TestBroker = {
  port: number
  /** everything that was published, in order, as a client that subscribes to all of it sees it */
  seen: Seen[]
  client: MqttClient
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a real broker that wants a password; with `tls`, a folder with ca.crt, server.crt and server.key, it speaks TLS only, and with
 * `webSockets` nothing else.
 */
export async function openMosquitto({
  tls,
  webSockets = false,
}: {
  tls?: string
  webSockets?: boolean
} = {}): Promise<TestBroker> {
  const temp = await openTempDir('mosquitto')
  await mkdir(temp.path, { recursive: true })
  const probe = createServer()
  const port = await listen(probe)
  await new Promise((resolve) => probe.close(resolve))
  const passwords = join(temp.path, 'passwords')
  const run = promisify(execFile)
  await run('mosquitto_passwd', ['-b', '-c', passwords, USER, PASSWORD])
  const secured = tls
    ? [
        `cafile ${tls}/ca.crt`,
        `certfile ${tls}/server.crt`,
        `keyfile ${tls}/server.key`,
        'require_certificate true',
      ]
    : []
  const config = [
    // With a listener of web sockets alone mosquitto 2.0 says that it has none.
    ...(webSockets ? [`listener 0 ${join(temp.path, 'socket')}`] : []),
    `listener ${port} 127.0.0.1`,
    ...(webSockets ? ['protocol websockets'] : []),
    ...secured,
    'allow_anonymous false',
    `password_file ${passwords}`,
    ...(process.getuid?.() === 0 ? ['user root'] : []),
  ]
  await writeFile(join(temp.path, 'mosquitto.conf'), `${config.join('\n')}\n`)
  const seen: Seen[] = []
  let broker: ReturnType<typeof spawn> | undefined
  let client: MqttClient | undefined
  const start = async () => {
    broker = spawn(mosquitto ?? '', ['-c', join(temp.path, 'mosquitto.conf')], { stdio: 'ignore' })
    if (tls) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      return
    }
    client = await eventually(
      () =>
        connectAsync(`${webSockets ? 'ws' : 'mqtt'}://127.0.0.1:${port}`, {
          username: USER,
          password: PASSWORD,
          reconnectPeriod: 0,
        }).catch(() => undefined),
      { everyMs: 100 },
    )
    client?.on('error', () => undefined)
    client?.on('message', (topic, payload, { retain }) => seen.push({ topic, text: String(payload), retain }))
    await client?.subscribeAsync(['#'], { qos: 1 })
  }
  const stop = async () => {
    await client?.endAsync(true)
    const ended = broker && broker.exitCode === null ? once(broker, 'exit') : undefined
    broker?.kill('SIGKILL')
    await ended
  }
  await start()
  return {
    port,
    seen,
    get client() {
      if (!client) throw new Error('a broker with TLS has no client of the test')
      return client
    },
    start,
    stop,
    async close() {
      await stop()
      await temp.close()
    },
  }
}
