import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { z } from 'zod'
import { readProcess } from '../../embedded/processes.ts'
import { ConfigError, connectReason, errorCode } from '../../kit/errors.ts'
import { PROGRAM_FOLDER } from '../../kit/program-folder.ts'
import { joinSignals, SECOND } from '../../kit/time.ts'
import type { Config } from '../config/config.ts'
import type { Readiness } from '../web/health-routes.ts'

const ANSWER_WITHIN_MS = 5 * SECOND
const readinessSchema = z.object({
  ready: z.boolean(),
  parts: z.record(z.string(), z.string()),
  identity: z.string().optional(),
})

/** Stands for the identity of a database if another program answers. */
export const OTHER_PROGRAM = 'another program'

/**
 * What a daemon reports about itself; `silent` is the process that listens at the address but has not answered in time, if this user can
 * see the process.
 */
type Fetched = Omit<Readiness, 'accounts' | 'server'> & { silent?: Listener | 'unknown' }

/** Fetches from the running daemon of this configuration whether it is ready; a daemon that does not answer is not ready. Throws ConfigError `http_off`. */
export async function fetchReadiness(config: Config): Promise<Fetched> {
  if (!config.http) throw new ConfigError('http_off', 'MUSETTE_HTTP is off, so the daemon cannot be asked')
  const { host, port } = config.http
  // An address that stands for all interfaces is reached on loopback.
  const reachable = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  const name = reachable.includes(':') ? `[${reachable}]` : reachable
  const within = joinSignals([], ANSWER_WITHIN_MS)
  try {
    const answer = await fetch(`http://${name}:${port}/readyz`, { signal: within.signal })
    return readinessSchema.parse(await answer.json())
  } catch (error) {
    if (within.isOver()) return describeSilent(`${name}:${port}`, await readListener(port))
    // An error of fetch has its reason in the cause; other errors come from reading the answer.
    const reason = error instanceof TypeError ? error.cause : error
    const isOther = reason === error || /^(HPE_|UND_ERR_SOCKET)/.test(errorCode(reason))
    const found = `${isOther ? 'another program answers at' : 'no answer from'} ${name}:${port}`
    const parts = { daemon: `${found} (${connectReason(reason)})` }
    return { ready: false, parts, ...(isOther && { identity: OTHER_PROGRAM }) }
  } finally {
    within.clear()
  }
}

/** Describes who listens at an address and did not answer. Calls it another program only if its process could be read. */
function describeSilent(address: string, listener: Listener | undefined): Fetched {
  const late = `${address} did not answer within ${ANSWER_WITHIN_MS / SECOND} s`
  if (!listener) return { ready: false, parts: { daemon: late }, silent: 'unknown' }
  const { pid, name, isMusette, isStopped } = listener
  const stopped = isStopped ? `: a signal has stopped it; run: kill -CONT ${pid}` : ''
  const who = isMusette ? `musette (pid ${pid})` : `another program (${name}, pid ${pid})`
  const parts = { daemon: `${who} at ${late}${stopped}` }
  return { ready: false, parts, silent: listener, ...(!isMusette && { identity: OTHER_PROGRAM }) }
}

/** A process that listens on a port. */
type Listener = { pid: number; name: string; isMusette: boolean; isStopped: boolean }

const LISTENS = '0A'

/** Reads which process listens on a TCP port, on Linux and as far as this user can see; otherwise returns undefined. */
async function readListener(port: number): Promise<Listener | undefined> {
  const inodes = await readInodes(port)
  if (inodes.length === 0) return undefined
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name) || !(await hasSocket(name, inodes))) continue
    const words = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split('\0')
    const isMusette = words.some(
      (word) => word.startsWith(PROGRAM_FOLDER) || /^musette\b/.test(basename(word)),
    )
    const isStopped = (await readProcess(Number(name)))?.state === 'T'
    return { pid: Number(name), name: basename(words[0] ?? ''), isMusette, isStopped }
  }
  return undefined
}

/** Reads the sockets that listen on a port, as /proc names them in the folder of their process. */
async function readInodes(port: number): Promise<string[]> {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  )
  const rows = tables.flatMap((table) => table.split('\n').map((line) => line.trim().split(/\s+/)))
  return rows.flatMap(([, at, , state, , , , , , inode]) =>
    at?.endsWith(local) && state === LISTENS && inode !== undefined ? [`socket:[${inode}]`] : [],
  )
}

async function hasSocket(pid: string, inodes: readonly string[]): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  // The process has ended, or belongs to another user.
  for (const name of await readdir(folder).catch(() => []))
    if (inodes.includes(await readlink(`${folder}/${name}`).catch(() => ''))) return true
  return false
}
