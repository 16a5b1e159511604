import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFreePort } from './listen.ts'
import { openTempDir } from './temp-dir.ts'

export type RedisServer = Awaited<ReturnType<typeof openRedisServer>>

/** Number of databases: one for each call of openTestRedis in a run. */
const DATABASES = 2_000
const READY_WITHIN_MS = 10_000

/**
 * Starts a Redis server on a free port of 127.0.0.1. It writes nothing to disk unless a test asks for it, and then only to its own folder.
 * `settings`: lines of redis.conf, which a sentinel changes.
 */
export async function openRedisServer(binary: string, settings?: readonly string[]) {
  const port = await findFreePort()
  const folder = await openTempDir('redis')
  const file = settings && join(folder.path, 'redis.conf')
  if (file) await writeFile(file, settings.join('\n'))
  const options = [...(file ? [file] : []), '--port', String(port)]
  if (settings?.[0]?.startsWith('sentinel')) options.push('--sentinel')
  else options.push('--save', '', '--appendonly', 'no', '--databases', String(DATABASES))
  let child = await startRedis(binary, options, folder.path)
  const kill = () => end(child, 'SIGKILL')
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    /** kills it, as a power cut would */
    kill,
    /** starts it again after `kill`, on the same port and empty */
    async start() {
      child = await startRedis(binary, options, folder.path)
    },
    async close() {
      await kill()
      await folder.close()
    },
  }
}

function startRedis(binary: string, options: readonly string[], cwd: string): Promise<ChildProcess> {
  const child = spawn(binary, [...options, '--bind', '127.0.0.1'], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail('was not ready in time'), READY_WITHIN_MS)
    const fail = (reason: string) => {
      clearTimeout(timer)
      child.kill('SIGKILL')
      reject(new Error(`redis-server ${reason}: ${output}`))
    }
    child.stdout?.on('data', (chunk: Buffer) => {
      output = `${output}${chunk}`.slice(-2_000)
      if (!/Ready to accept connections|Sentinel ID is/.test(output)) return
      clearTimeout(timer)
      resolve(child)
    })
    child.once('error', (error) => fail(error.message))
    child.once('exit', (code) => fail(`ended with code ${code}`))
  })
}

function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill(signal)
  })
}
