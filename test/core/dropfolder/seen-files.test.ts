import { describe, expect, it } from 'vitest'
import { makeSeenFiles } from '../../../src/core/dropfolder/seen-files.ts'
import type { Found, Identity } from '../../../src/core/dropfolder/walk-folder.ts'

const NOW = Date.UTC(2026, 2, 11)
const NOTHING = { do: 'nothing' }
const CLAIM = { do: 'claim' }

function fileOf(relativePath: string, identity: Partial<Identity> = {}): Found {
  const place = { root: '', home: [], folder: [], rawName: Buffer.alloc(0) }
  const old = { size: 5, mtimeMs: NOW - 3_600_000, ctimeMs: NOW - 3_600_000, ...identity }
  return { ...place, key: relativePath, account: 'default', name: relativePath, relativePath, identity: old }
}

/** Makes the record of a first walk that saw these files, which are at rest after a second. */
function seeFiles(...files: Found[]) {
  const seen = makeSeenFiles({ restMs: 1_000 })
  seen.beginWalk()
  for (const file of files) seen.decide(file, NOW)
  return seen
}

describe('a file that a walk has found', () => {
  it.each([
    [NOW - 1_000, 0, 0],
    [0, NOW - 1_000, 0],
    [0, NOW - 200.5, 800],
    [NOW + 5_000, 0, 1_000],
  ])('with mtime %d and ctime %d is at rest after %d ms', (mtimeMs, ctimeMs, againMs) => {
    const decision = makeSeenFiles({ restMs: 1_000 }).decide(fileOf('a', { mtimeMs, ctimeMs }), NOW)
    expect(decision).toEqual(againMs > 0 ? { ...NOTHING, againMs } : CLAIM)
  })

  it('rests since its own times in a first walk, and since a later walk saw it', () => {
    const [first, later] = [fileOf('first'), fileOf('later')]
    const seen = seeFiles(first)
    expect(seen.restingSince(first)).toBe(NOW - 3_600_000)
    seen.beginWalk()
    expect(seen.decide(later, NOW)).toEqual(CLAIM)
    expect(seen.restingSince(later)).toBe(NOW)
    expect(seen.restingSince(fileOf('unknown'))).toBe(Number.POSITIVE_INFINITY)
  })

  it('was changed at its mtime, or when this process saw it if that is earlier', () => {
    const [old, ahead] = [fileOf('old'), fileOf('ahead', { mtimeMs: NOW + 3_600_000 })]
    const seen = seeFiles(old, ahead)
    expect([seen.changedAt(old), seen.changedAt(ahead)]).toEqual([NOW - 3_600_000, NOW])
    seen.beginWalk()
    // The disk's clock is behind.
    const changed = fileOf('old', { size: 6, mtimeMs: NOW - 1_800_000 })
    seen.decide(changed, NOW + 5)
    expect(seen.changedAt(changed)).toBe(NOW + 5)
    seen.recordGone(changed)
    seen.beginWalk()
    seen.decide(changed, NOW + 9)
    expect(seen.changedAt(changed)).toBe(NOW - 1_800_000)
  })
})
