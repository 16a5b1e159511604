import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { TransientError } from '../kit/errors.ts'
import { quoteShell } from '../kit/text.ts'
import { MINUTE, SECOND } from '../kit/time.ts'
import { causeIn } from './explain-end.ts'
import { formatHolder, readLockHolder } from './lock.ts'
import { readPostmasterPid, readProcess, readServerProcesses, signalServer } from './processes.ts'

/** The SQLSTATE of a server that is starting, recovering from a crash, or stopping. */
export const RECOVERING = '57P03'
/** How long to wait before looking for a suspended process, ms, because a server that is starting or stopping changes its state soon. */
const LOOK_AFTER_MS = 2 * SECOND
/** How long to wait for a connection or for the start of a server, ms: enough on a slow disk, except for a recovery. A command reports the wait within ten seconds. */
const ANSWER_WITHIN_MS = 8 * SECOND
/** How long to wait for the recovery after a crash, or for the creation of the files on a slow disk, ms. */
const WORK_WITHIN_MS = 10 * MINUTE

/** `refusal`: the error code of the last connection attempt, undefined before the first; `waitedMs`: how long the server has not answered. */
type Silence = { dataDir: string; refusal: string | undefined; waitedMs: number }

/** Returns the error for a server that runs or is being started but does not answer; undefined as long as waiting may help. */
export async function readNotReady(silence: Silence): Promise<TransientError | undefined> {
  if (silence.waitedMs < LOOK_AFTER_MS) return undefined
  const stopped = await readStopped(silence.dataDir)
  if (stopped.length === 0 && silence.waitedMs < (await readPatience(silence))) return undefined
  return describeSilence(silence, stopped)
}

async function readPatience({ dataDir, refusal }: Silence): Promise<number> {
  const isMade = await stat(join(dataDir, 'postgres.new')).catch(() => undefined)
  return refusal === RECOVERING || isMade ? WORK_WITHIN_MS : ANSWER_WITHIN_MS
}

/** Makes the error for a server whose recovery takes longer than the caller waits. */
export const describeRecovery = (input: Omit<Silence, 'refusal'>) =>
  describeSilence({ ...input, refusal: RECOVERING })

/** Makes the error for a server that does not answer, with what is known about the server. */
async function describeSilence(
  { dataDir, refusal, waitedMs }: Silence,
  stopped: readonly number[] = [],
): Promise<TransientError> {
  const { pid } = await readServer(dataDir)
  const server = `the embedded Postgres${pid === undefined ? '' : ` (pid ${pid})`}`
  const seconds = Math.round(waitedMs / SECOND)
  const state =
    refusal === RECOVERING ? `is still recovering after ${seconds} s` : `did not answer within ${seconds} s`
  const log = join(dataDir, 'postgres.log')
  const line = await readLastLine(dataDir)
  const parts = [
    stopped.length > 0
      ? `${server} does not answer: process ${stopped.join(' and ')} is stopped`
      : `${server} ${state}`,
    ...(line === undefined ? [] : [`its log ends with: ${line}`]),
    stopped.length > 0 ? `run: kill -CONT ${stopped.join(' ')}` : `run: tail ${quoteShell(log)}`,
  ]
  return new TransientError('embedded_not_ready', parts.join('; '))
}

/** Reads the last line of the server's log that is about the server and not about a session. */
export async function readLastLine(dataDir: string): Promise<string | undefined> {
  const text = await readFile(join(dataDir, 'postgres.log'), 'utf8').catch(() => '')
  const lines = text.slice(-4_000).split('\n')
  return causeIn(
    lines.filter((line) => line.trim() !== '' && !line.includes('the database system is ')).at(-1) ?? '',
  )
}

async function readServer(dataDir: string) {
  const cluster = join(dataDir, 'postgres')
  const running = await readServerProcesses(cluster).catch(() => [])
  const postmaster = await readPostmasterPid(cluster)
  return { running, pid: running.find((each) => each === postmaster) }
}

/** Finds suspended processes (SIGSTOP) among the server's processes and its owner. Waiting does not help, because only SIGCONT resumes them. */
async function readStopped(dataDir: string): Promise<number[]> {
  const { running } = await readServer(dataDir)
  const owner = await readLockHolder(dataDir)
  const all = [...running, ...(owner?.life === 'alive' ? [owner.pid] : [])]
  const found = await Promise.all(all.map(readProcess))
  return all.filter((_, index) => found[index]?.state === 'T')
}

/** A server that its owner is starting is ready well within this time, ms. */
const START_MS = 10 * SECOND
/** A server that was just killed is gone within this time, ms. */
const STOP_MS = 2 * SECOND

/**
 * Stops a server whose owner died in this pid namespace, as its watchdog does, and returns whether there may be a server. The server keeps
 * the lock until it has ended. Changes no file.
 */
export async function stopWithoutOwner(dataDir: string): Promise<boolean> {
  if ((await readLockHolder(dataDir))?.life !== 'dead') return false
  await signalServer(join(dataDir, 'postgres'), 'SIGINT')
  return true
}

/** Returns the error for a server that this process cannot reach, because its owner runs in another container or on another host. */
export async function readElsewhere(
  dataDir: string,
  waitedMs = START_MS,
): Promise<TransientError | undefined> {
  const owner = await readLockHolder(dataDir)
  if (owner?.life !== 'elsewhere') return undefined
  // A server in a container on the same network is joined when it is ready; a server that stops releases the lock.
  const isYoung = Date.now() - Date.parse(owner.since) < START_MS
  if (waitedMs < (isYoung ? START_MS : STOP_MS)) return undefined
  const runs = `${formatHolder(owner)} runs the embedded Postgres in ${dataDir}, and this process cannot reach it`
  const there = owner.enter === '' ? 'run there: musette status' : `run: ${owner.enter} musette status`
  const start = `MUSETTE_DATA_DIR=${quoteShell(dataDir)} musette start --take-over`
  const unknown = `; this system cannot see whether that process has ended; if it has, run: ${start}`
  return new TransientError('embedded_elsewhere', `${runs}; ${there}${owner.isKernelLock ? '' : unknown}`)
}

/** Makes the error for a change of the database while another process, such as a daemon of an older version, runs the server. */
export async function describeInUse(dataDir: string): Promise<TransientError> {
  const owner = await readLockHolder(dataDir)
  const who = owner ? formatHolder(owner) : 'another process'
  const run = owner && owner.life !== 'elsewhere' ? `; run: kill ${owner.pid}` : ''
  const message = `${who} runs the embedded Postgres in ${dataDir}, and may have the older version that made the database; nothing was changed; end that process, then run this again${run}`
  return new TransientError('embedded_in_use', message)
}
