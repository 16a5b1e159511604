import { type Backoff, backoffMs } from '../kit/time.ts'
import { type Found, type Identity, isUnchanged } from './walk.ts'

/** What is to be done with a file once it was taken; `text` for a failed one. */
export type Ending = { action: 'done' } | { action: 'failed'; text: string }

type State =
  | { state: 'settling' }
  | { state: 'taking' }
  | { state: 'waiting'; untilMs: number }
  | { state: 'ending'; ending: Ending }
  | { state: 'left' }
  | { state: 'gone'; walk: number }

type Entry = {
  found: Found
  /** when a walk saw it first as it is now; for what lay there at the start the disk's own times tell */
  sinceMs: number
  tries: number
  /** why it waits, when a person should hear of it */
  why: Why | undefined
  now: State
}

/** Why something in the folder waits: a stable word, and a sentence for a person. */
export type Why = { code: string; reason: string }

/** Something in the folder that waits; `account` and `sizeBytes` are null for what is no file. */
export type Waiting = Why & {
  relativePath: string
  account: string | null
  sizeBytes: number | null
  sinceMs: number
}

/** What a scan decides about one file: take it, finish its move, or look again in so many ms (undefined: only when it changes). */
type Decision = { do: 'take' } | { do: 'end'; ending: Ending } | { do: 'nothing'; againMs?: number }

export type Memory = {
  /** says that a walk over the disk begins; what it lists may be out of date by the time it is decided */
  beginWalk(): void
  decide(found: Found, nowMs: number): Decision
  recordTaking(found: Found): void
  recordWaiting(found: Found, nowMs: number, why?: Why): void
  recordEnding(found: Found, ending: Ending): void
  recordLeft(found: Found, why?: Why): void
  /** the file was moved, or was another one by then: it counts as new when a later walk finds it */
  recordGone(found: Found): void
  /** forgets every file that is not among these and is not being taken */
  keepOnly(keys: ReadonlySet<string>): void
  /** ends every pause, so that the next scan takes what waits */
  endPauses(): void
  /** whether a finished file could not be moved yet */
  hasEndings(): boolean
  /** since when a file lies where it is unchanged, as far as the disk and this process know */
  restingSince(found: Found): number
  /** relative paths of the files that are not whole yet or are tried again later */
  waiting(): string[]
  /** the files that have waited since before then for what a person should hear of, the longest first */
  waitingSince(beforeMs: number): Waiting[]
}

/** A file that does not change is looked into again after a minute, then less often: it may be the service that is away. */
const AGAIN: Backoff = { firstMs: 60_000, maxMs: 600_000, factor: 2 }

/** Makes the memory of the drop folder: what is known about each file since the start. Lost at a crash, and not missed. */
export function makeMemory(options: { restMs: number }): Memory {
  const entries = new Map<string, Entry>()
  let walk = 0
  const record = (found: Found, now: State, why?: Why) => {
    const entry = entries.get(found.key)
    if (!entry) return
    entry.now = now
    if (now.state !== 'taking') entry.why = why
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
      if (!known || known.now.state === 'gone' || !isUnchanged(known.found.identity, found.identity)) {
        const sinceMs = walk <= 1 ? changedBefore(found.identity, nowMs) : nowMs
        entries.set(found.key, { found, sinceMs, tries: 0, why: undefined, now: { state: 'settling' } })
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
    recordWaiting(found, nowMs, why) {
      const entry = entries.get(found.key)
      if (!entry) return
      entry.tries += 1
      record(found, { state: 'waiting', untilMs: nowMs + backoffMs(AGAIN, entry.tries) }, why)
    },
    recordEnding(found, ending) {
      record(found, { state: 'ending', ending })
    },
    recordLeft(found, why) {
      record(found, { state: 'left' }, why)
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
    restingSince: (found) => entries.get(found.key)?.sinceMs ?? Number.POSITIVE_INFINITY,
    waiting() {
      return [...entries.values()]
        .filter((entry) => entry.now.state === 'waiting')
        .map((entry) => entry.found.relativePath)
    },
    waitingSince(beforeMs) {
      const waiting: Waiting[] = []
      for (const { found, sinceMs, why } of entries.values()) {
        if (!why || sinceMs > beforeMs) continue
        const { relativePath, account, identity } = found
        waiting.push({ ...why, relativePath, account, sizeBytes: identity.size, sinceMs })
      }
      return waiting.sort((a, b) => a.sinceMs - b.sinceMs)
    },
  }
}

/**
 * A file is at rest when nothing changed it for `restMs`: by the disk's own times, so that old files need no second look,
 * or by two looks, for disks whose clock is ahead of ours.
 */
function decideSettling(identity: Identity, sinceMs: number, nowMs: number, restMs: number): Decision {
  const restedMs = nowMs - changedBefore(identity, sinceMs)
  return restedMs >= restMs ? { do: 'take' } : { do: 'nothing', againMs: Math.ceil(restMs - restedMs) }
}

/** When a file was last changed or came to its place by the disk's times, `seenMs` at the latest. */
function changedBefore(identity: Identity, seenMs: number): number {
  return Math.min(seenMs, Math.max(identity.mtimeMs, identity.ctimeMs))
}
