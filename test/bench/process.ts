import { readFileSync } from 'node:fs'

/** Linux counts processor time in hundredths of a second. */
const TICKS_A_SECOND = 100

/** Memory of a process in MB: what it holds now, and the most it ever held. Undefined when it has ended. */
export function memoryOf(pid: number): { nowMb: number; peakMb: number } | undefined {
  const status = read(`/proc/${pid}/status`)
  const kb = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status ?? '')?.[1] ?? Number.NaN)
  const nowMb = kb('VmRSS') / 1_024
  return Number.isNaN(nowMb) ? undefined : { nowMb, peakMb: kb('VmHWM') / 1_024 }
}

export function processorSecondsOf(pid: number): number {
  const fields = read(`/proc/${pid}/stat`)?.split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
