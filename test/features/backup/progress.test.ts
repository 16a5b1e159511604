import { expect, it, onTestFinished } from 'vitest'
import { openStore } from '../../../src/core/store/store.ts'
import { openArchive } from '../../../src/features/backup/archive/read-archive.ts'
import { restoreBackup } from '../../../src/features/backup/archive/restore-backup.ts'
import { writeBackup } from '../../../src/features/backup/archive/write-backup.ts'
import type { CopyProgress } from '../../../src/features/backup/database/copy-progress.ts'
import { systemClock } from '../../../src/kit/time.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { fill } from './rig.ts'

const log = makeSilentLog()
const { signal } = new AbortController()
/** Rows of 800 bytes, more of them than buffers hold. */
const LONG_ROWS = 40_000
const LONG = 'training.sync_runs/'

/** Gathers what is shown, and waits until it shows a part of the rows. */
function makeViewer() {
  const shown: CopyProgress[] = []
  const isMidway = ({ done, total }: CopyProgress) => done > total / 3 && done < total * 0.99
  return {
    shown,
    onProgress: (now: CopyProgress) => void shown.push(now),
    midway: () => eventually(() => shown.some(isMidway), { what: 'progress in the middle of a table' }),
  }
}

function expectWhole(shown: readonly CopyProgress[]): void {
  const total = shown[0]?.total
  expect(total).toBeGreaterThan(LONG_ROWS)
  expect(shown[0]).toEqual({ done: 0, total })
  expect(shown.at(-1)).toEqual({ done: total, total })
  const done = shown.map((now) => now.done)
  expect(done).toEqual(done.toSorted((a, b) => a - b))
}

it('a backup and its restore show how many rows are copied, also in the middle of a table', async () => {
  const [source, target] = [await openTestDatabase(), await openTestDatabase()]
  for (const database of [source, target]) onTestFinished(() => database.close())
  await fill(source.url)
  const rows = `insert into training.sync_runs (account_id, resource, kind, error)
    select 1, 'activities', 'poll', repeat(md5(n::text), 24) from generate_series(1, ${LONG_ROWS}) n`
  await queryOnce(source.url, rows)
  const store = openStore({ log }, { connectionString: source.url, maxConnections: 2 })
  onTestFinished(() => store.close())
  const pieces: Buffer[] = []
  const writing = makeViewer()
  const write = async (bytes: Buffer) => {
    pieces.push(bytes)
    // Parts are compressed ahead of the one that is written.
    if (bytes.includes(`${LONG}000001`)) await writing.midway()
  }
  await writeBackup({ store, now: systemClock }, { write, signal, onProgress: writing.onProgress })
  expectWhole(writing.shown)

  const reading = makeViewer()
  // Some parts are read ahead; those before them are copied by then. An entry begins with its name.
  const last = pieces.findLastIndex((piece) => piece.indexOf(LONG) === 0)
  async function* slowly() {
    for (const [index, piece] of pieces.entries()) {
      if (index === last) await reading.midway()
      yield piece
    }
  }
  const restoring = { connectionString: target.url, archive: await openArchive(slowly()), signal }
  await restoreBackup({ log }, { ...restoring, onProgress: reading.onProgress })
  expectWhole(reading.shown)
})
