import { type Backoff, backoffMs } from '../kit/backoff.ts'
import { type Identity, isUnchanged } from './disk/identity.ts'
import type { Found } from './disk/walk.ts'

/** What is to be done with a file once it was taken; `text` for a failed one. */
export type Ending = { action: 'done' } | { action: 'failed'; text: string }

type State =
  | { state: 'settling' }
  | { state: 'taking' }
  | { state: 'waiting'; untilMs: number }
  | { state: 'ending'; ending: Ending }
  | { state: 'left' }
  | { state: 'gone'; walk: number }

type Entry = { identity: Identity; sinceMs: number; tries: number; relativePath: string; now: State }

/** What a scan decides about one file: take it, finish its move, or look again in so many ms (undefined: only when it changes). */
export type Decision = { do: 'take' } | { do: 'end'; ending: Ending } | { do: 'nothing'; againMs?: number }

export type Memory = {
  /** says that a walk over the disk begins; what it lists may be out of date by the time it is decided */
  beginWalk(): void
  decide(found: Found, nowMs: number): Decision
  recordTaking(found: Found): void
  recordWaiting(found: Found, nowMs: number, pauseMs?: number): void
  recordEnding(found: Found, ending: Ending): void
  recordLeft(found: Found): void
  /** the file was moved, or was another one by then: it counts as new when a later walk finds it */
  recordGone(found: Found): void
  /** forgets every file that is not among these and is not being taken */
  keepOnly(keys: ReadonlySet<string>): void
  /** ends every pause, so that the next scan takes what waits */
  endPauses(): void
  /** whether a finished file could not be moved yet */
  hasEndings(): boolean
  /** relative paths of the files that are not whole yet or are tried again later */
  waiting(): string[]
}

/** A file that does not change is looked into again after a minute, then less often: it may be the service that is away. */
const AGAIN: Backoff = { firstMs: 60_000, maxMs: 600_000, factor: 2 }

/** Makes the memory of the drop folder: what is known about each file since the start. Lost at a crash, and not missed. */
export function makeMemory(options: { restMs: number }): Memory {
  const entries = new Map<string, Entry>()
  let walk = 0
  const record = (found: Found, now: State) => {
    const entry = entries.get(found.key)
    if (entry) entry.now = now
  }
  return {
    beginWalk() {
      walk += 1
    },
    decide(found, nowMs) {
      const known = entries.get(found.key)
      if (known?.now.state === 'taking') return { do: 'nothing' }
      // What this walk saw was perhaps the file in the middle of its move; the next walk knows.
      if (known?.now.state === 'gone' && known.now.walk === walk) return { do: 'nothing' }
      if (!known || known.now.state === 'gone' || !isUnchanged(known.identity, found.identity)) {
        entries.set(found.key, {
          identity: found.identity,
          sinceMs: nowMs,
          tries: 0,
          relativePath: found.relativePath,
          now: { state: 'settling' },
        })
        return decideSettling(found.identity, nowMs, nowMs, options.restMs)
      }
      const { now } = known
      if (now.state === 'settling') {
        return decideSettling(found.identity, known.sinceMs, nowMs, options.restMs)
      }
      if (now.state === 'ending') return { do: 'end', ending: now.ending }
      if (now.state === 'left') return { do: 'nothing' }
      return now.untilMs <= nowMs ? { do: 'take' } : { do: 'nothing', againMs: now.untilMs - nowMs }
    },
    recordTaking(found) {
      record(found, { state: 'taking' })
    },
    recordWaiting(found, nowMs, pauseMs) {
      const entry = entries.get(found.key)
      if (!entry) return
      entry.tries += 1
      entry.now = { state: 'waiting', untilMs: nowMs + (pauseMs ?? backoffMs(AGAIN, entry.tries)) }
    },
    recordEnding(found, ending) {
      record(found, { state: 'ending', ending })
    },
    recordLeft(found) {
      record(found, { state: 'left' })
    },
    recordGone(found) {
      record(found, { state: 'gone', walk })
    },
    keepOnly(keys) {
      for (const [key, entry] of entries) {
        if (!keys.has(key) && entry.now.state !== 'taking') entries.delete(key)
      }
    },
    endPauses() {
      for (const entry of entries.values()) {
        if (entry.now.state === 'waiting') entry.now = { state: 'waiting', untilMs: 0 }
      }
    },
    hasEndings() {
      return [...entries.values()].some((entry) => entry.now.state === 'ending')
    },
    waiting() {
      return [...entries.values()]
        .filter((entry) => entry.now.state === 'waiting')
        .map((entry) => entry.relativePath)
    },
  }
}

/**
 * A file is at rest when nothing changed it for `restMs`: by the disk's own times, so that old files need no second look,
 * or by two looks, for disks whose clock is ahead of ours.
 */
function decideSettling(identity: Identity, sinceMs: number, nowMs: number, restMs: number): Decision {
  const changedMs = Math.min(sinceMs, Math.max(identity.mtimeMs, identity.ctimeMs))
  const restedMs = nowMs - changedMs
  return restedMs >= restMs ? { do: 'take' } : { do: 'nothing', againMs: Math.ceil(restMs - restedMs) }
}
