import { describe, expect, it } from 'vitest'
import { type FolderReport, makeProblems, makeReporter } from '../../../src/core/dropfolder/folder-report.ts'
import { makeSeenFiles } from '../../../src/core/dropfolder/seen-files.ts'
import type { Found, Identity } from '../../../src/core/dropfolder/walk-folder.ts'
import { makeTestLog } from '../../kit/log.ts'

const NOW = Date.UTC(2026, 2, 11)
const NOTHING = { do: 'nothing' }
const CLAIM = { do: 'claim' }

function fileOf(relativePath: string, identity: Partial<Identity> = {}): Found {
  const none = Buffer.alloc(0)
  const bytes = { root: none, home: none, folder: none, path: none, rawName: none }
  const old = { size: 5, mtimeMs: NOW - 3_600_000, ctimeMs: NOW - 3_600_000, ...identity }
  return { ...bytes, key: relativePath, account: 'default', name: relativePath, relativePath, identity: old }
}

/** The files seen in a first walk, at rest after a second. */
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
  ])(
    'with the times %d and %d rests %d ms more: a second after the later one, or after it was seen',
    (mtimeMs, ctimeMs, againMs) => {
      const decision = makeSeenFiles({ restMs: 1_000 }).decide(fileOf('a', { mtimeMs, ctimeMs }), NOW)
      expect(decision).toEqual(againMs > 0 ? { ...NOTHING, againMs } : CLAIM)
    },
  )

  it('rests since its own times at the first walk, and since it was seen at a later one', () => {
    const [first, later] = [fileOf('first'), fileOf('later')]
    const seen = seeFiles(first)
    expect(seen.restingSince(first)).toBe(NOW - 3_600_000)
    seen.beginWalk()
    expect(seen.decide(later, NOW)).toEqual(CLAIM)
    expect(seen.restingSince(later)).toBe(NOW)
    expect(seen.restingSince(fileOf('unknown'))).toBe(Number.POSITIVE_INFINITY)
  })

  it('was changed at the time of its disk, or when this process saw it if that is earlier', () => {
    const [old, ahead] = [fileOf('old'), fileOf('ahead', { mtimeMs: NOW + 3_600_000 })]
    const seen = seeFiles(old, ahead)
    expect([seen.changedAt(old), seen.changedAt(ahead)]).toEqual([NOW - 3_600_000, NOW])
    seen.beginWalk()
    // The clock of the disk is behind.
    const changed = fileOf('old', { size: 6, mtimeMs: NOW - 1_800_000 })
    seen.decide(changed, NOW + 5)
    expect(seen.changedAt(changed)).toBe(NOW + 5)
    seen.recordGone(changed)
    seen.beginWalk()
    seen.decide(changed, NOW + 9)
    expect(seen.changedAt(changed)).toBe(NOW - 1_800_000)
  })

  it('that waits is claimed after a pause of one to ten minutes, or when all waits end', () => {
    const file = fileOf('a')
    const seen = seeFiles(file)
    for (const mostMs of [60_000, 120_000, 240_000, 480_000, 600_000, 600_000]) {
      seen.recordWaiting(file, NOW)
      const decision = seen.decide(file, NOW)
      const againMs = 'againMs' in decision ? Number(decision.againMs) : Number.NaN
      expect(decision).toEqual({ ...NOTHING, againMs })
      expect([againMs >= mostMs / 2, againMs <= mostMs]).toEqual([true, true])
      expect(seen.decide(file, NOW + againMs - 1)).toEqual({ ...NOTHING, againMs: 1 })
      expect(seen.decide(file, NOW + againMs)).toEqual(CLAIM)
    }
    seen.endWaits()
    expect(seen.decide(file, NOW)).toEqual(CLAIM)
  })

  it('is forgotten when a walk no longer finds it; an unknown one leaves no note', () => {
    const [kept, file] = [fileOf('kept'), fileOf('a')]
    const seen = seeFiles(kept, file)
    for (const each of [kept, file]) seen.recordLeft(each)
    seen.keepOnly(new Set(['kept']))
    expect([seen.decide(kept, NOW), seen.decide(file, NOW)]).toEqual([NOTHING, CLAIM])
    seen.recordWaiting(fileOf('unknown'), NOW, { code: 'c', reason: 'r' })
    expect(seen.waitingSince(Number.POSITIVE_INFINITY)).toEqual([])
  })
})

describe('files that wait', () => {
  const why = { code: 'not_whole', reason: 'it is cut' }

  it('are listed with their reasons, longest waiting first, also during an attempt', () => {
    const files = [2_000, 3_000, 1_000].map((ago) => fileOf(`${ago}`, { mtimeMs: NOW - ago, ctimeMs: 0 }))
    const silent = fileOf('silent')
    const seen = seeFiles(...files, silent)
    for (const file of files) seen.recordWaiting(file, NOW, why)
    seen.recordWaiting(silent, NOW)
    seen.recordClaimed(files[0] as Found)
    const row = { ...why, account: 'default', sizeBytes: 5 }
    expect(seen.waitingSince(NOW - 2_000)).toEqual([
      { ...row, relativePath: '3000', sinceMs: NOW - 3_000 },
      { ...row, relativePath: '2000', sinceMs: NOW - 2_000 },
    ])
    expect(seen.waitingSince(NOW - 2_001)).toHaveLength(1)
  })

  function openReporter(...files: Found[]) {
    const { log, lines } = makeTestLog()
    const seen = seeFiles(...files)
    for (const file of files) seen.recordWaiting(file, NOW, why)
    const problems = makeProblems(log, () => new Date(NOW))
    const shown: FolderReport[] = []
    const show = async (report: FolderReport) => void shown.push(report)
    const reporter = makeReporter({ log, seen, problems, show }, '/drop')
    const said = () => lines.map(({ level, msg }) => `${level} ${msg}`)
    return { seen, problems, reporter, lines, said, shown }
  }

  it('in a folder without an account wait since they were first seen, listed after the problem of the whole folder', async () => {
    const { problems, reporter, shown } = openReporter(fileOf('a', { mtimeMs: NOW - 60_000, ctimeMs: 0 }))
    await reporter.report(NOW - 1, ['2024', '.'])
    await reporter.report(NOW, ['2024'])
    problems.begin('watch', 'it is not watched')
    await reporter.report(NOW + 1, ['2024', '.'])
    const rows = shown.map((report) =>
      report.map(({ relativePath, sinceMs }) => `${relativePath} ${sinceMs - NOW}`).join(),
    )
    expect(rows).toEqual(['2024 -1,. -1', '2024 -1,a -60000', '/drop 0,2024 -1,. 1,a -60000'])
    expect(shown[1]?.[0]?.reason).toMatch(/there is no account of that name; .* run: musette login 2024$/)
    expect(shown[2]?.[2]?.reason).toMatch(/no account is signed in; run: musette login$/)
  })

  it('have the most serious problem of the folder; each problem is logged when it begins and ends', () => {
    const { problems, lines, said } = openReporter()
    const least = ['watch', 'unreadable', 'text', 'read_only'] as const
    for (const kind of [...least, 'other_database', 'accounts', 'vanished'] as const) {
      problems.begin(kind, `${kind} is wrong`, new Error('why'))
      problems.begin(kind, 'again')
      expect(problems.current()).toEqual({ kind, sentence: `${kind} is wrong`, sinceMs: NOW })
    }
    problems.end('vanished')
    problems.end('vanished')
    expect(said().slice(-2)).toEqual(['warn vanished is wrong', 'info over: vanished is wrong'])
    expect(said()).toHaveLength(8)
    problems.begin('vanished', 'it is gone')
    expect(lines[0]).toMatchObject({ problem: 'watch', reason: 'why' })
    expect(lines.at(-1)).toMatchObject({ problem: 'vanished' })
    expect(lines.at(-1)).not.toHaveProperty('reason')
    problems.end('vanished')
    expect(problems.current()?.kind).toBe('accounts')
  })
})
