import { join } from 'node:path'
import { TransientError } from '../kit/errors.ts'
import { quoteShell } from '../kit/text.ts'
import { SECOND } from '../kit/time.ts'
import { formatHolder, judgeHolder } from './holder.ts'
import { readLockHolder } from './lock.ts'
import { signalServer } from './processes.ts'

/** A server that its owner is starting is ready long before this. */
const START_MS = 10 * SECOND
/** A server that was just killed is gone within this. */
const STOP_MS = 2 * SECOND

/** Judges whether the process that the lock of `dataDir` names lives, see judgeHolder; undefined when it names none. */
export async function readOwnerLife(dataDir: string) {
  const owner = await readLockHolder(dataDir)
  return owner && judgeHolder(owner)
}

/**
 * Stops a server whose owner died in this pid namespace, as its watchdog does, and returns whether there may be one; the server keeps the
 * lock until it has ended. Changes no file.
 */
export async function stopWithoutOwner(dataDir: string): Promise<boolean> {
  if ((await readOwnerLife(dataDir)) !== 'dead') return false
  await signalServer(join(dataDir, 'postgres'), 'SIGINT')
  return true
}

/** Returns the error for a server that this process cannot reach, because its owner runs in another container or on another host. */
export async function readElsewhere(
  dataDir: string,
  waitedMs = START_MS,
): Promise<TransientError | undefined> {
  const owner = await readLockHolder(dataDir)
  if (!owner || (await judgeHolder(owner)) !== 'elsewhere') return undefined
  // The server of a container on the same network is joined when it is ready; one that stops frees the lock.
  const isYoung = Date.now() - Date.parse(owner.since) < START_MS
  if (waitedMs < (isYoung ? START_MS : STOP_MS)) return undefined
  const runs = `${formatHolder(owner)} runs the embedded Postgres in ${dataDir}, which cannot be reached from here`
  const there = owner.enter === '' ? 'run there: musette status' : `run: ${owner.enter} musette status`
  const start = `MUSETTE_DATA_DIR=${quoteShell(dataDir)} musette start --take-over`
  const unknown = `; this system cannot tell whether that process has ended; if it has, run: ${start}`
  return new TransientError('embedded_elsewhere', `${runs}; ${there}${owner.isKernelLock ? '' : unknown}`)
}

/** Makes the error for a change of the database while another process, such as a daemon of an older version, runs its server. */
export async function describeInUse(dataDir: string): Promise<TransientError> {
  const owner = await readLockHolder(dataDir)
  const who = owner ? formatHolder(owner) : 'another process'
  const isHere = owner && (await judgeHolder(owner)) !== 'elsewhere'
  const run = isHere ? `; run: kill ${owner.pid}` : ''
  const message = `${who} runs the embedded Postgres in ${dataDir}, and may be of the older version that made the database; nothing is changed; end that process, then run this again${run}`
  return new TransientError('embedded_in_use', message)
}
