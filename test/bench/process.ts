import { readFileSync } from 'node:fs'

/** Memory of a process in MB: what it holds now, and the most it ever held. Undefined when it has ended. */
export function memoryOf(pid: number): { nowMb: number; peakMb: number } | undefined {
  const status = read(`/proc/${pid}/status`)
  const kb = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status ?? '')?.[1] ?? Number.NaN)
  const nowMb = kb('VmRSS') / 1_024
  return Number.isNaN(nowMb) ? undefined : { nowMb, peakMb: kb('VmHWM') / 1_024 }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
