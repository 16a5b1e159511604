import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'

/** A process that stays distinguishable from a later one with the same number. */
export type ProcessIdentity = { pid: number; startedAt: string }

const run = promisify(execFile)

/** Returns the identity of a living process; `startedAt` is empty when there is none with that number. */
export async function readProcessIdentity(pid: number): Promise<ProcessIdentity> {
  return { pid, startedAt: process.platform === 'linux' ? await readLinuxStart(pid) : await readStart(pid) }
}

/** Whether exactly this process still lives, and not another with its number. */
export async function isProcessAlive(identity: ProcessIdentity): Promise<boolean> {
  if (!Number.isSafeInteger(identity.pid) || identity.pid <= 0 || identity.startedAt === '') return false
  return (await readProcessIdentity(identity.pid)).startedAt === identity.startedAt
}

/**
 * Lists the numbers of living processes that run a server on `directory`: on Linux those that work in it (a server
 * and each of its children do), elsewhere the one that postmaster.pid names, if its command line names the directory.
 */
export async function listServerProcesses(directory: string): Promise<number[]> {
  if (process.platform !== 'linux') return listByCommand(directory)
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      if ((await readlink(`/proc/${name}/cwd`)) !== directory) continue
      if ((await readLinuxStart(Number(name))) !== '' && (await isPostgres(name))) found.push(Number(name))
    } catch {
      // It ended meanwhile, or is another user's and so none of ours.
    }
  }
  return found
}

// A person's shell may stand in the directory, too.
async function isPostgres(pid: string): Promise<boolean> {
  return (await readFile(`/proc/${pid}/comm`, 'utf8')).startsWith('postgres')
}

async function listByCommand(directory: string): Promise<number[]> {
  const pid = await readPostmasterPid(directory)
  if (pid === undefined) return []
  try {
    const { stdout } = await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
    return stdout.includes(directory) ? [pid] : []
  } catch {
    return []
  }
}

/** Reads the process number from a data directory's postmaster.pid; undefined when there is none. */
export async function readPostmasterPid(directory: string): Promise<number | undefined> {
  try {
    const [line] = (await readFile(`${directory}/postmaster.pid`, 'utf8')).split('\n')
    const pid = Number(line)
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

// The boot is part of it, because numbers and ticks begin again with the machine.
async function readLinuxStart(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything, so count from the last one: state is field 3, start time field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return ''
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
    return `${boot}/${fields[19] ?? ''}`
  } catch {
    return ''
  }
}

async function readStart(pid: number): Promise<string> {
  try {
    const { stdout } = await run('ps', ['-o', 'lstart=', '-p', String(pid)], {
      env: { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' },
    })
    return stdout.trim()
  } catch {
    return ''
  }
}
