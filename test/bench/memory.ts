import { setTimeout as pause } from 'node:timers/promises'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { memoryOf } from './process.ts'
import { type BenchInput, median, openBench, type Row, within } from './rig.ts'

const LOOK_EVERY_MS = 50
const HALF_DAY_S = 43_200

/** Measures the memory of `musette sync`: over a long backfill, for one ride of twelve hours, and for a dozen of them. */
export async function benchMemory(): Promise<Row[]> {
  const measure = (input: BenchInput) => within((release) => follow(release, input))
  const backfill = await measure({ rides: 3_000, seconds: 1_800, distinct: 20 })
  const one = await measure({ rides: 1, seconds: HALF_DAY_S })
  const dozen = await measure({ rides: 12, seconds: HALF_DAY_S })
  const part = (from: number, to: number) =>
    median(
      backfill.seen.slice(Math.floor(from * backfill.seen.length), Math.floor(to * backfill.seen.length)),
    )
  return [
    ['a backfill of 3,000 rides: memory in its second quarter', mb(part(0.25, 0.5))],
    ['the same in its last quarter', mb(part(0.75, 1)), 'the same'],
    ['the most it held', mb(backfill.peakMb)],
    ['one ride of 43,200 samples: the most it held', mb(one.peakMb), '< 300 MB'],
    ['twelve of them waiting, four at a time: the most it held', mb(dozen.peakMb), '< 300 MB'],
  ]
}

async function follow(release: ReleaseStack, input: BenchInput) {
  const bench = await openBench(release, input)
  const running = startNode([distPath('main.js'), 'sync'], { env: bench.env })
  const seen: number[] = []
  let peakMb = 0
  for (let memory = memoryOf(running.pid); memory; memory = memoryOf(running.pid)) {
    seen.push(memory.nowMb)
    peakMb = memory.peakMb
    await pause(LOOK_EVERY_MS)
  }
  const end = await running.finished
  if (end.code !== 0) throw new Error(`musette sync: ${end.stderr.slice(0, 500)}`)
  return { seen, peakMb }
}

function mb(value: number): string {
  return `${value.toFixed(0)} MB`
}
