import { execFile } from 'node:child_process'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { TransientError } from '../kit/errors.ts'
import { SECOND, sleep } from '../kit/time.ts'

const run = promisify(execFile)

/**
 * Reads a living process's state, one letter of ps (T if a signal has suspended the process), and its start time, which distinguishes the
 * process from a later one with the same number. Returns undefined if there is no such process.
 */
export async function readProcess(pid: number): Promise<{ state: string; startedAt: string } | undefined> {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined
  const isLinux = process.platform === 'linux'
  const text = isLinux
    ? await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    : await readPs(pid, ['-o', 'state=,lstart='])
  // The name in parentheses may contain anything, so count from the last parenthesis: state is field 3, start time field 22.
  const fields = text
    .slice(text.lastIndexOf(')') + 1)
    .trim()
    .split(' ')
  const [state = ''] = fields[0] ?? ''
  if (['', 'Z', 'X'].includes(state)) return undefined
  // Process numbers and start times begin again at each boot.
  const startedAt = isLinux ? `${await readBoot()}/${fields[19] ?? ''}` : fields.slice(1).join(' ').trim()
  return { state, startedAt }
}

/**
 * Reads the numbers of living processes of this pid namespace that run a server on `directory`. On Linux: processes with it as working
 * directory (a server and its children). Elsewhere: the process that postmaster.pid names, if its command line names the directory.
 */
export async function readServerProcesses(directory: string): Promise<number[]> {
  if (process.platform !== 'linux') {
    const pid = await readPostmasterPid(directory)
    const isOurs = pid !== undefined && (await readPs(pid, ['-ww', '-o', 'command='])).includes(directory)
    return isOurs ? [pid] : []
  }
  const found: number[] = []
  const cluster = await stat(directory).catch(() => undefined)
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      // In a container, the same path may be another folder.
      const at = await stat(`/proc/${name}/cwd`)
      if (at.ino !== cluster?.ino || at.dev !== cluster.dev) continue
      if (!(await readProcess(Number(name)))) continue
      // A shell may also have the directory as its working directory.
      if ((await readFile(`/proc/${name}/comm`, 'utf8')).startsWith('postgres')) found.push(Number(name))
    } catch {
      // The process has ended, or belongs to another user.
    }
  }
  return found
}

/** Reads the process number from a data directory's postmaster.pid; undefined if there is none. */
export async function readPostmasterPid(directory: string): Promise<number | undefined> {
  const text = await readFile(`${directory}/postmaster.pid`, 'utf8').catch(() => '')
  const pid = Number(text.split('\n')[0])
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
}

export async function readBoot(): Promise<string> {
  if (process.platform === 'linux')
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')).trim()
  return (await run('sysctl', ['-n', 'kern.boottime']).catch(() => undefined))?.stdout.trim() ?? ''
}

/** Reads the output of ps for a process; empty if the process has ended. */
async function readPs(pid: number, options: readonly string[]): Promise<string> {
  const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' }
  const finished = await run('ps', [...options, '-p', String(pid)], { env }).catch(() => undefined)
  return finished?.stdout.trim() ?? ''
}

/** How long a fast shutdown of an orphan may take, ms: it has no clients left to wait for, and its watchdog is stopping it, too. */
const FAST_MS = 10 * SECOND
const IMMEDIATE_MS = 5 * SECOND
const CHECK_EVERY_MS = 20

/**
 * Stops every server process that still works on `cluster`, then removes its postmaster.pid, which would prevent the next start if another
 * program has its number by now. Only the holder of the lock on the data directory may call it: with a kernel lock, these are the processes
 * of a server that this process has started.
 */
export async function stopOrphans(cluster: string): Promise<void> {
  for (const [signal, withinMs] of [
    ['SIGINT', FAST_MS],
    ['SIGQUIT', IMMEDIATE_MS],
    ['SIGKILL', IMMEDIATE_MS],
  ] as const) {
    await signalServer(cluster, signal)
    for (const end = Date.now() + withinMs; Date.now() < end; await sleep(CHECK_EVERY_MS))
      if ((await readServerProcesses(cluster)).length === 0)
        return rm(join(cluster, 'postmaster.pid'), { force: true })
  }
  throw new TransientError(
    'embedded_orphan',
    `cannot stop the embedded Postgres that is still running in ${cluster}`,
  )
}

/** Sends a signal to the server processes on `cluster`. SIGINT goes only to the postmaster, which passes a fast shutdown on to its children. */
export async function signalServer(cluster: string, signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void> {
  const found = await readServerProcesses(cluster)
  const postmaster = await readPostmasterPid(cluster)
  for (const pid of found) {
    if (signal === 'SIGINT' && pid !== postmaster) continue
    try {
      process.kill(pid, signal)
    } catch {
      // The process has ended.
    }
  }
}
