import { randomUUID } from 'node:crypto'
import { readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { orMissing, readPlainFile } from '../kit/files.ts'
import { parseIfJson } from '../kit/json.ts'
import { readBoot, readProcess } from './processes.ts'

/** The process that has a lock, as it describes itself in the file of the lock. */
export type Self = Readonly<{
  pid: number
  startedAt: string
  token: string
  /** the boot and the pid namespace in which `pid` counts; undefined in a file of 1.1.0 */
  place: string | undefined
  host: string
  /** `docker exec 0123456789ab`, the command that reaches its container; empty outside of one */
  enter: string
  command: string
  since: string
  /** whether the kernel keeps the lock, so that a lock that can be taken has no holder, whatever the file says */
  isKernelLock: boolean
}>

/** A holder and whether it lives, where this process can know it: in its own boot and pid namespace. */
export type Holder = Self & Readonly<{ life: 'alive' | 'dead' | 'elsewhere' }>

const TOKEN = /^[0-9a-f-]{36}$/

/** Describes this process as a holder. */
export async function describeSelf(isKernelLock: boolean): Promise<Self> {
  const verb = process.argv.slice(2).find((word) => /^[a-z][a-z-]+$/.test(word))
  return {
    pid: process.pid,
    startedAt: (await readProcess(process.pid))?.startedAt ?? '',
    token: randomUUID(),
    place: await readPlace(),
    host: hostname(),
    enter: await readContainer(),
    command: verb ? `musette ${verb}` : 'musette',
    since: new Date().toISOString(),
    isKernelLock,
  }
}

/** Reads who has described itself in the file of a lock, and whether it lives; undefined when nobody has, or the file is damaged. */
export async function readHolder(path: string): Promise<Holder | undefined> {
  const bytes = await readPlainFile(path).catch(orMissing)
  const found = Object(parseIfJson(String(bytes ?? '')))
  const text = (name: string) => (typeof found[name] === 'string' ? String(found[name]) : '')
  if (!TOKEN.test(text('token'))) return undefined
  const self: Self = {
    pid: Number(found.pid),
    startedAt: text('startedAt'),
    token: text('token'),
    place: text('place') || undefined,
    host: text('host'),
    enter: text('enter'),
    command: text('command') || 'musette',
    since: text('since'),
    isKernelLock: found.isKernelLock === true,
  }
  return { ...self, life: await readLife(self) }
}

async function readLife({ pid, startedAt, place, host }: Self): Promise<Holder['life']> {
  if (place === undefined || place === (await readPlace())) {
    const isAlive = startedAt !== '' && (await readProcess(pid))?.startedAt === startedAt
    return isAlive ? 'alive' : 'dead'
  }
  // macOS has no pid namespaces: another boot of this machine has ended with all its processes.
  return process.platform === 'darwin' && host === hostname() ? 'dead' : 'elsewhere'
}

/** Says who has a lock, as a phrase. Pure. */
export function formatHolder({ command, pid, host, since }: Self): string {
  const from = since && ` since ${since.slice(0, 16).replace('T', ' ')} UTC`
  return `${command} (process ${pid}${host && ` on ${host}`})${from}`
}

async function readPlace(): Promise<string> {
  const namespace = await readlink('/proc/self/ns/pid').catch(() => '')
  return `${await readBoot()} ${namespace}`
}

/** Docker and Podman mount files of a container from a folder that has its id. */
async function readContainer(): Promise<string> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
  const [, kind, id] = /\/(overlay-)?containers\/([0-9a-f]{12})[0-9a-f]{52}\//.exec(mounts) ?? []
  return id ? `${kind ? 'podman' : 'docker'} exec ${id}` : ''
}
