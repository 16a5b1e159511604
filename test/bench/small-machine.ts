import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'

const ROOT = '/sys/fs/cgroup'
/** The quarter of a core, in µs of each period. Longer periods would be bursts at full speed with pauses between them. */
const [QUOTA_US, PERIOD_US] = [2_500, 10_000]
export const SPEED = QUOTA_US / PERIOD_US

export type SmallMachine = NonNullable<ReturnType<typeof openSmallMachine>>

/**
 * Makes a cgroup, of version 2 or 1, with a quarter of a core, before all else that runs here, and so much memory, MB; undefined
 * where none can be made.
 */
export function openSmallMachine(release: ReleaseStack, memoryMb: number) {
  const name = `musette-bench-${process.pid}-${memoryMb}`
  const isV2 = existsSync(`${ROOT}/cgroup.controllers`)
  const folderOf = (controller: string) => (isV2 ? `${ROOT}/${name}` : `${ROOT}/${controller}/${name}`)
  const [cpu, account, memory] = ['cpu', 'cpuacct', 'memory'].map(folderOf) as [string, string, string]
  const folders = [...new Set([cpu, account, memory])]
  const bytes = String(memoryMb * 1024 * 1024)
  const limits: Record<string, string> = isV2
    ? {
        [`${cpu}/cpu.max`]: `${QUOTA_US} ${PERIOD_US}`,
        [`${cpu}/cpu.weight`]: '10000',
        [`${memory}/memory.max`]: bytes,
      }
    : {
        [`${cpu}/cpu.cfs_period_us`]: String(PERIOD_US),
        [`${cpu}/cpu.cfs_quota_us`]: String(QUOTA_US),
        [`${cpu}/cpu.shares`]: '262144',
        [`${memory}/memory.limit_in_bytes`]: bytes,
      }
  release.defer('cgroup', () => folders.forEach((folder) => void (existsSync(folder) && rmdirSync(folder))))
  try {
    if (isV2) writeFileSync(`${ROOT}/cgroup.subtree_control`, '+cpu +memory')
    for (const folder of folders) mkdirSync(folder, { recursive: true })
    for (const [file, limit] of Object.entries(limits)) writeFileSync(file, limit)
  } catch {
    return undefined
  }
  const read = (path: string) => readFileSync(path, 'utf8')
  const numberIn = (path: string, before: string) =>
    Number(new RegExp(`${before}(\\d+)`).exec(read(path))?.[1])
  const join = folders.map((folder) => `echo $$ > ${folder}/cgroup.procs`).join(' && ')
  return {
    /** stands before a command that is to run on the machine */
    prefix: ['sh', '-c', `${join} && exec "$@"`, 'sh'],
    /** processor time that its processes have used, in s of this machine */
    processorSeconds: () =>
      isV2
        ? numberIn(`${cpu}/cpu.stat`, 'usage_usec ') / 1e6
        : Number(read(`${account}/cpuacct.usage`)) / 1e9,
    /** how often the kernel killed one of them for want of memory */
    oomKills: () =>
      numberIn(`${memory}/${isV2 ? 'memory.events' : 'memory.oom_control'}`, '(?:^|\\s)oom_kill '),
    /** bytes that its living processes, and the ended ones of those, have sent to the disk */
    writtenBytes: () =>
      read(`${memory}/cgroup.procs`)
        .split('\n')
        .filter(Boolean)
        .reduce((sum, pid) => sum + numberIn(`/proc/${pid}/io`, '\\bwrite_bytes: '), 0),
  }
}
