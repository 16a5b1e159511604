import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connectAsync } from 'mqtt'
import { onTestFinished } from 'vitest'
import { findBinary } from '../../kit/binaries.ts'
import { eventually } from '../../kit/eventually.ts'
import { findFreePort } from '../../kit/listen.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

export const mosquitto = findBinary(['mosquitto', '/usr/sbin/mosquitto']) ?? findBinary(['../sbin/mosquitto'])

export const USER = 'rider'
export const PASSWORD = 'p@ss/word?'

/** Intervals of a publisher in a test. */
export const PAUSES = {
  ...{ lookEveryMs: 300, lockRetryMs: 300, answerMs: 1_000, commandRestMs: 2_000 },
  backoff: { firstMs: 200, factor: 1, maxMs: 200 },
}

export type TestBroker = Awaited<ReturnType<typeof openMosquitto>>

/**
 * Opens a real broker with a password, and a client that subscribes to everything; `seen` lists the client's messages in order. With `tls`,
 * a folder with ca.crt, server.crt and server.key, the broker also speaks TLS. `limits` are lines of its access list and configuration.
 */
export async function openMosquitto(tls?: string, limits: { acl?: string; lines?: readonly string[] } = {}) {
  const temp = await openTempDir('mosquitto')
  const [mqtt = 0, mqtts = 0, wss = 0] = await Promise.all(Array.from({ length: 3 }, findFreePort))
  const passwords = join(temp.path, 'passwords')
  await promisify(execFile)('mosquitto_passwd', ['-b', '-c', passwords, USER, PASSWORD])
  const files = [`cafile ${tls}/ca.crt`, `certfile ${tls}/server.crt`, `keyfile ${tls}/server.key`]
  const secured = [...files, 'require_certificate true']
  const config = [
    `listener ${mqtt} 127.0.0.1`,
    ...(tls ? [`listener ${mqtts} 127.0.0.1`, ...secured] : []),
    ...(tls ? [`listener ${wss} 127.0.0.1`, 'protocol websockets', ...secured] : []),
    ...['allow_anonymous false', `password_file ${passwords}`],
    ...(process.getuid?.() === 0 ? ['user root'] : []),
    ...(limits.acl === undefined ? [] : [`acl_file ${join(temp.path, 'acl')}`]),
    ...(limits.lines ?? []),
  ]
  if (limits.acl !== undefined) await writeFile(join(temp.path, 'acl'), `user ${USER}\n${limits.acl}\n`)
  await writeFile(join(temp.path, 'mosquitto.conf'), `${config.join('\n')}\n`)
  const seen: Array<{ topic: string; text: string; retain: boolean }> = []
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
    ports: { mqtt, mqtts, wss },
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

/** Opens a broker that supports only MQTT 3.1.1, in front of another broker on this machine; `levels` lists the requested versions. */
export async function openOldBroker(behind: number) {
  const levels: number[] = []
  const old = createServer((socket) => {
    socket.once('data', (bytes) => {
      const level = bytes[bytes.indexOf('MQTT') + 4] ?? 0
      levels.push(level)
      // CONNACK: unacceptable protocol version.
      if (level > 4) return void socket.end(Buffer.from([0x20, 2, 0, 1]))
      const line = connectTcp(behind, '127.0.0.1')
      line.write(bytes)
      socket.pipe(line).pipe(socket)
      for (const end of [socket, line]) end.on('error', () => end.destroy())
    })
  })
  onTestFinished(() => void old.close())
  await once(old.listen(0, '127.0.0.1'), 'listening')
  return { port: (old.address() as AddressInfo).port, levels }
}
