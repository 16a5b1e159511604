import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { median, openBench, type Row, timed } from './rig.ts'

const ROUNDS = 20
const STARTS = 10
const COMMANDS: ReadonlyArray<{ args: readonly string[]; goal: number }> = [
  { args: ['--help'], goal: 2.5 },
  { args: ['--version'], goal: 2.5 },
  { args: ['status', '--json'], goal: 6 },
  { args: ['sql', 'select 1'], goal: 6 },
]

/**
 * Measures the processor time of short commands, without Postgres, against that of Node with nothing to do, in alternation; and the
 * start of a daemon.
 */
export async function benchStart(release: ReleaseStack): Promise<Row[]> {
  const bench = await openBench(release, { rides: 20, seconds: 600 })
  await bench.musette(['sync'])
  const lines = [['--eval', '0'], ...COMMANDS.map(({ args }) => [distPath('main.js'), ...args])]
  const rounds: number[][] = []
  for (let round = 0; round < ROUNDS; round++) {
    const times: number[] = []
    for (const line of lines) times.push(await measure(line, bench.env))
    rounds.push(times)
  }
  const starts: number[] = []
  for (let start = 0; start < STARTS; start++) starts.push(await startDaemon(bench.env))
  const medianOf = (index: number) => median(rounds.map((times) => times[index] ?? Number.NaN))
  const bare = medianOf(0)
  return [
    ['processor time of node --eval 0', `${bare.toFixed(0)} ms`],
    ...COMMANDS.map(
      ({ args, goal }, index): Row => [
        `musette ${args.join(' ')}, as a multiple of that`,
        (medianOf(index + 1) / bare).toFixed(1),
        `<= ${goal}`,
      ],
    ),
    ['from the start of the daemon to ready', `${median(starts).toFixed(0)} ms`, '<= 500 ms'],
  ]
}

async function startDaemon(env: Record<string, string>): Promise<number> {
  const daemon = startNode([distPath('main.js'), 'start'], { env })
  try {
    return await timed(() => daemon.waitForLine(/"msg":"started"/))
  } finally {
    await daemon.kill('SIGTERM')
  }
}

/** Runs Node to its end and returns the processor time of the process, user and system, in ms. */
async function measure(args: readonly string[], env: Record<string, string>): Promise<number> {
  // Node does not tell the processor time of a child that has ended; bash does.
  const script = 'TIMEFORMAT="%3U %3S"; time "$@" >/dev/null'
  const { stderr } = await promisify(execFile)('bash', ['-c', script, 'bash', process.execPath, ...args], {
    env: { ...process.env, ...env },
  })
  const [user, system] = stderr.trim().split(' ').map(Number)
  return ((user ?? Number.NaN) + (system ?? Number.NaN)) * 1_000
}
