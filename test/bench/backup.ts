import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { memoryOf } from './process.ts'
import { type Bench, openBench, openFolder, psql, type Row, seconds, timed } from './rig.ts'

const RIDES = 600
const SECONDS = 5_400
const DISTINCT = 60
const SAMPLES = RIDES * SECONDS
const ROUNDS = 3
const LOOK_EVERY_MS = 50

/** ms and MB of one round; the whole database goes out and in, and the table of samples alone by psql */
type Round = {
  backup: number
  restore: number
  copyOut: number
  copyIn: number
  bytes: number
  backupMb: number
  restoreMb: number
}

/**
 * Measures `musette backup` of 600 rides of 5,400 samples, and `musette restore` of it on a bare machine, which creates the
 * embedded Postgres too, against psql's own binary COPY of the samples in the same round.
 */
export async function benchBackup(release: ReleaseStack): Promise<Row[]> {
  const bench = await openBench(release, { rides: RIDES, seconds: SECONDS, distinct: DISTINCT })
  const folder = await openFolder(release)
  await bench.musette(['sync'])
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measureRound(bench, folder))
  return rowsOf(rounds)
}

async function measureRound(bench: Bench, folder: string): Promise<Round> {
  const [file, copied, dataDir] = ['mirror.tar', 'samples.copy', 'bare'].map((name) =>
    join(folder, name),
  ) as [string, string, string]
  await bench.client.query('checkpoint')
  const copyOut = await timed(() =>
    psql(bench, `\\copy training.samples to '${copied}' with (format binary)`),
  )
  const made = await run(['backup', file], bench.env)
  const { size: bytes } = await stat(file)
  await bench.client.query('create table training.copied (like training.samples including indexes)')
  const copyIn = await timed(() =>
    psql(bench, `\\copy training.copied from '${copied}' with (format binary)`),
  )
  await bench.client.query('drop table training.copied')
  await rm(copied)
  const restored = await run(['restore', file], { MUSETTE_DATA_DIR: dataDir })
  await rm(dataDir, { recursive: true })
  return {
    ...{ backup: made.ms, restore: restored.ms, copyOut, copyIn, bytes },
    ...{ backupMb: made.peakMb, restoreMb: restored.peakMb },
  }
}

async function run(
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ ms: number; peakMb: number }> {
  let peakMb = 0
  const ms = await timed(async () => {
    const running = startNode([distPath('main.js'), ...args], { env })
    for (let memory = memoryOf(running.pid); memory; memory = memoryOf(running.pid)) {
      peakMb = memory.peakMb
      await pause(LOOK_EVERY_MS)
    }
    const end = await running.finished
    if (end.code !== 0) throw new Error(`musette ${args[0]}: ${end.stderr.slice(0, 500)}`)
  })
  return { ms, peakMb }
}

function rowsOf(rounds: readonly Round[]): Row[] {
  const each = (write: (round: Round) => string) => rounds.map(write).join('  ')
  const size = (rounds[0]?.bytes ?? Number.NaN) / 1e6
  return [
    [
      `${SAMPLES.toLocaleString('en')} samples and all the rest out: musette backup`,
      each(({ backup }) => seconds(backup)),
      'seconds',
    ],
    ['in again on a bare machine: musette restore', each(({ restore }) => seconds(restore)), 'seconds'],
    ["psql's binary COPY of the samples alone, out", each(({ copyOut }) => seconds(copyOut))],
    ['the same, in', each(({ copyIn }) => seconds(copyIn))],
    ['backup / COPY out, each round', each(({ backup, copyOut }) => (backup / copyOut).toFixed(2))],
    ['restore / COPY in, each round', each(({ restore, copyIn }) => (restore / copyIn).toFixed(2))],
    ['the file', `${size.toFixed(0)} MB`],
    [
      'the most memory that backup and restore held',
      `${Math.max(...rounds.map(({ backupMb }) => backupMb)).toFixed(0)} MB, ${Math.max(...rounds.map(({ restoreMb }) => restoreMb)).toFixed(0)} MB`,
      '< 300 MB',
    ],
  ]
}
