import { type Backoff, backoffMs } from '../../kit/time.ts'
import { type Found, type Identity, isUnchanged } from './walk-folder.ts'

/** How to finish a file after its import. `text` says why the import failed. */
export type FinalResult = { action: 'done' } | { action: 'failed'; text: string }

type State =
  | { state: 'settling' }
  | { state: 'claimed' }
  | { state: 'waiting'; untilMs: number }
  | { state: 'unmoved'; result: FinalResult }
  | { state: 'left' }
  | { state: 'gone'; walk: number }

type Entry = {
  found: Found
  /** when a walk first saw this version of the file; for files of the first walk, the time on the disk */
  sinceMs: number
  tries: number
  /** when the file last changed: by this process's clock if it saw the change, otherwise by the disk's, which may be wrong */
  changedMs: number
  /** why the file waits, if the reason should be reported */
  why: WaitReason | undefined
  now: State
}

/** Why an entry of the folder waits: a stable code, and a sentence for a person. */
export type WaitReason = { code: string; reason: string }

/** A waiting file or folder, or the drop folder itself; `account` and `sizeBytes` are null if it is not a file. */
export type Waiting = WaitReason & {
  relativePath: string
  account: string | null
  sizeBytes: number | null
  sinceMs: number
}

/** What a scan does with a file: claim it, move it, or look again after `againMs` (undefined: only once the file changes). */
type Decision = { do: 'claim' } | { do: 'move'; result: FinalResult } | { do: 'nothing'; againMs?: number }

export type SeenFiles = ReturnType<typeof makeSeenFiles>

/** Backoff before an unchanged file is retried, because the file may wait for the service or the database. */
const RETRY: Backoff = { firstMs: 60_000, maxMs: 600_000, factor: 2 }

/** Keeps the state of the files seen since the start. A crash loses this state; the ledger in the database keeps all facts that must last. */
export function makeSeenFiles({ restMs }: { restMs: number }) {
  const entries = new Map<string, Entry>()
  let walk = 0
  const record = (found: Found, now: State, why?: WaitReason) => {
    const entry = entries.get(found.key)
    if (!entry) return
    entry.now = now
    if (now.state !== 'claimed') entry.why = why
  }
  return {
    /** Marks the start of a walk. The walk's list may be outdated by the time a file is decided. */
    beginWalk() {
      walk += 1
    },
    decide(found: Found, nowMs: number): Decision {
      const known = entries.get(found.key)
      if (known?.now.state === 'claimed') return { do: 'nothing' }
      // This walk may have listed the file before it was moved, so the next walk decides.
      if (known?.now.state === 'gone' && known.now.walk === walk) return { do: 'nothing' }
      if (!known || known.now.state === 'gone' || !isUnchanged(known.found.identity, found.identity)) {
        const sinceMs = walk <= 1 ? changedBefore(found.identity, nowMs) : nowMs
        const wasSeen = known && known.now.state !== 'gone'
        const changedMs = wasSeen ? sinceMs : Math.min(sinceMs, found.identity.mtimeMs)
        const now: State = { state: 'settling' }
        entries.set(found.key, { found, sinceMs, changedMs, tries: 0, why: undefined, now })
        return decideSettling(found.identity, nowMs, nowMs, restMs)
      }
      const { now } = known
      if (now.state === 'settling') return decideSettling(found.identity, known.sinceMs, nowMs, restMs)
      if (now.state === 'unmoved') return { do: 'move', result: now.result }
      if (now.state === 'left') return { do: 'nothing' }
      return now.untilMs <= nowMs ? { do: 'claim' } : { do: 'nothing', againMs: now.untilMs - nowMs }
    },
    recordClaimed: (found: Found) => record(found, { state: 'claimed' }),
    recordWaiting(found: Found, nowMs: number, why?: WaitReason) {
      const entry = entries.get(found.key)
      if (!entry) return
      entry.tries += 1
      record(found, { state: 'waiting', untilMs: nowMs + backoffMs(RETRY, entry.tries) }, why)
    },
    recordUnmoved: (found: Found, result: FinalResult) => record(found, { state: 'unmoved', result }),
    recordLeft: (found: Found, why?: WaitReason) => record(found, { state: 'left' }, why),
    /** Records that a file was moved or replaced: a later walk that finds it treats it as new. */
    recordGone: (found: Found) => record(found, { state: 'gone', walk }),
    /** Forgets every file that is neither in `keys` nor claimed. */
    keepOnly(keys: ReadonlySet<string>) {
      for (const [key, entry] of entries) {
        if (!keys.has(key) && entry.now.state !== 'claimed') entries.delete(key)
      }
    },
    /** Ends every pause, so that the next scan claims all waiting files. */
    endWaits() {
      for (const entry of entries.values()) {
        if (entry.now.state === 'waiting') entry.now = { state: 'waiting', untilMs: 0 }
      }
    },
    hasUnmoved: () => [...entries.values()].some((entry) => entry.now.state === 'unmoved'),
    /** Returns the time of a file's last change or move, as far as the disk and this process know. */
    restingSince: (found: Found) => entries.get(found.key)?.sinceMs ?? Number.POSITIVE_INFINITY,
    /** Returns when a file last changed: by this process's clock if it saw the change, otherwise by the disk's. */
    changedAt: (found: Found) => entries.get(found.key)?.changedMs ?? Number.POSITIVE_INFINITY,
    /** Returns the files that have waited since before `beforeMs` and have a reason to report, the longest wait first. */
    waitingSince(beforeMs: number) {
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

/** Decides whether a file is at rest: unchanged for `restMs` by its times on the disk or, if the disk's clock is ahead, between two scans. */
function decideSettling(identity: Identity, sinceMs: number, nowMs: number, restMs: number): Decision {
  const restedMs = nowMs - changedBefore(identity, sinceMs)
  return restedMs >= restMs ? { do: 'claim' } : { do: 'nothing', againMs: Math.ceil(restMs - restedMs) }
}

/** Returns when a file was last changed or put in its place, by the times on the disk, but no later than `seenMs`. */
function changedBefore(identity: Identity, seenMs: number): number {
  return Math.min(seenMs, Math.max(identity.mtimeMs, identity.ctimeMs))
}
