import type { Logger } from 'pino'
import type { Clock } from '../kit/clock.ts'
import { errorCode, errorLine } from '../kit/errors.ts'
import { readFound } from './disk/read.ts'
import type { Found } from './disk/walk.ts'
import type { Ending, Memory } from './memory.ts'
import { moveDone, moveFailed } from './move/move.ts'
import type { Problems } from './problems.ts'

/** A file at rest in the drop folder. Paths are for people and logs; `read` gives the bytes, whatever the name is. */
export type DroppedFile = {
  account: string
  relativePath: string
  name: string
  sizeBytes: number
  mtimeMs: number
}

/** `wait`: not whole yet, or to be tried again; it is taken again when it changes, or after a growing pause. */
export type AfterFile =
  | { action: 'done' }
  | { action: 'failed'; text: string }
  | { action: 'keep' }
  | { action: 'wait' }

export type TakeFile = (
  file: DroppedFile,
  read: () => Promise<Buffer>,
  signal: AbortSignal,
) => Promise<AfterFile>

export type TakeDeps = { log: Logger; now: Clock; take: TakeFile; memory: Memory; problems: Problems }

export type TakeOptions = {
  dir: string
  afterUpload: 'move' | 'keep'
  signal: AbortSignal
  wakeSoon: () => void
}

/** Hands one file to whoever takes files, and does with it what the answer says. Never throws: what fails is tried again. */
export async function takeFound(deps: TakeDeps, options: TakeOptions, found: Found): Promise<void> {
  const { log, memory } = deps
  const { dir, signal } = options
  if (signal.aborted) return memory.recordGone(found)
  try {
    const after = await deps.take(droppedOf(found), () => readFound(dir, found), signal)
    if (after.action === 'wait') memory.recordWaiting(found, deps.now().getTime())
    else if (after.action === 'keep' || options.afterUpload === 'keep') memory.recordLeft(found)
    else await endFound(deps, options, found, after)
  } catch (error) {
    if (signal.aborted) return memory.recordGone(found)
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'file_changed') {
      log.debug({ file: found.relativePath, code }, 'file went or changed while it was read')
      memory.recordGone(found)
      options.wakeSoon()
      return
    }
    log.warn(
      { file: found.relativePath, code, reason: errorLine(error) },
      'file could not be taken; tried again',
    )
    memory.recordWaiting(found, deps.now().getTime())
  }
}

/** Moves a taken file to where it ends. What the disk refuses is said once, and tried again at every scan without sending. */
export async function endFound(
  deps: Omit<TakeDeps, 'take'>,
  options: Pick<TakeOptions, 'wakeSoon'>,
  found: Found,
  ending: Ending,
): Promise<void> {
  const { log, memory, problems } = deps
  const file = found.relativePath
  try {
    const at = deps.now()
    const moved =
      ending.action === 'done' ? await moveDone(found, at) : await moveFailed(found, at, ending.text)
    memory.recordGone(found)
    if (moved.outcome === 'changed') options.wakeSoon()
    const to = moved.outcome === 'moved' ? moved.path.toString() : undefined
    log.debug({ file, to, outcome: moved.outcome }, 'file moved')
    if (moved.outcome === 'moved' && moved.untold !== undefined) {
      const reason = errorLine(moved.untold)
      log.warn({ file, to, reason }, 'file is in failed/, but the text beside it could not be written')
    }
  } catch (error) {
    memory.recordEnding(found, ending)
    problems.begin(
      'read_only',
      `drop folder: finished files cannot be moved (${errorLine(error)}); make the folder writable, or set MUSETTE_AFTER_UPLOAD=keep`,
      error,
    )
  }
}

function droppedOf(found: Found): DroppedFile {
  const { account, relativePath, name, identity } = found
  return { account, relativePath, name, sizeBytes: identity.size, mtimeMs: identity.mtimeMs }
}
