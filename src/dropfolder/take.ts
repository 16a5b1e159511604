import type { Logger } from 'pino'
import type { Clock } from '../kit/clock.ts'
import { errorCode, errorLine } from '../kit/errors.ts'
import { type OpenFile, openFound } from './disk/open.ts'
import type { Found } from './disk/walk.ts'
import type { Ending, Memory, Why } from './memory.ts'
import { moveDone, moveFailed } from './move/move.ts'
import type { Problems } from './problems.ts'

/** A file at rest in the drop folder. Paths are for people and logs; `open` opens it, whatever the name is. */
export type DroppedFile = {
  account: string
  relativePath: string
  name: string
  sizeBytes: number
  mtimeMs: number
  /** since when it lies there unchanged */
  restingSince: Date
}

/**
 * `wait`: not whole yet, or to be tried again; it is taken again when it changes, or after a growing pause. `reason`: what a
 * person should hear when it lasts.
 */
export type AfterFile =
  | { action: 'done' }
  | { action: 'failed'; text: string }
  | { action: 'keep' }
  | { action: 'wait'; reason?: string | undefined }

export type TakeFile = (
  file: DroppedFile,
  open: () => Promise<OpenFile>,
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
  const opened: OpenFile[] = []
  const open = async () => {
    const file = await openFound(dir, found)
    opened.push(file)
    return file
  }
  try {
    const dropped = droppedOf(found, memory.restingSince(found))
    const after = await deps.take(dropped, open, signal).finally(() => closeAll(opened))
    const nowMs = deps.now().getTime()
    if (after.action === 'wait') {
      memory.recordWaiting(found, nowMs, after.reason === undefined ? undefined : notWhole(after.reason))
    } else if (after.action === 'keep' || options.afterUpload === 'keep') {
      memory.recordLeft(found)
    } else {
      await endFound(deps, options, found, after)
    }
  } catch (error) {
    if (signal.aborted) return memory.recordGone(found)
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'file_changed') {
      log.debug({ file: found.relativePath, code }, 'file went or changed while it was read')
      memory.recordGone(found)
      options.wakeSoon()
      return
    }
    log.debug({ file: found.relativePath, code, reason: errorLine(error) }, 'file cannot be taken')
    const reason = `cannot be taken now (${errorLine(error)}); it is tried again`
    memory.recordWaiting(found, deps.now().getTime(), { code: 'unreadable_file', reason })
  }
}

function notWhole(reason: string): Why {
  return { code: 'not_whole', reason }
}

async function closeAll(files: readonly OpenFile[]): Promise<void> {
  for (const file of files) await file.close()
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
    if (moved.outcome !== 'moved') return
    if (moved.untold === undefined) return problems.end('text')
    const sentence = `drop folder: files are in failed/ without the texts beside them (${errorLine(moved.untold)}); the reasons are in training.uploads`
    problems.begin('text', sentence, moved.untold)
  } catch (error) {
    memory.recordEnding(found, ending)
    problems.begin(
      'read_only',
      `drop folder: finished files cannot be moved (${errorLine(error)}); make the folder writable, or set MUSETTE_AFTER_UPLOAD=keep`,
      error,
    )
  }
}

function droppedOf(found: Found, restingSinceMs: number): DroppedFile {
  const { account, relativePath, name, identity } = found
  const { size: sizeBytes, mtimeMs } = identity
  return { account, relativePath, name, sizeBytes, mtimeMs, restingSince: new Date(restingSinceMs) }
}
