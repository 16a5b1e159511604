import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore, type Store } from '../../../src/core/store/store.ts'
import { openArchive } from '../../../src/features/backup/archive/read-archive.ts'
import { restoreBackup } from '../../../src/features/backup/archive/restore-backup.ts'
import { writeBackup } from '../../../src/features/backup/archive/write-backup.ts'
import type { CopyProgress } from '../../../src/features/backup/database/copy-progress.ts'
import { systemClock } from '../../../src/kit/time.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openTestDatabase, type TestDatabase } from '../../kit/postgres.ts'
import { fill } from './rig.ts'

const log = makeSilentLog()
const { signal } = new AbortController()
/** Nearly all rows are samples, more of them than buffers hold. */
const ACTIVITIES = 200

let source: TestDatabase
let target: TestDatabase
let stores: Store[]
beforeAll(async () => {
  source = await openTestDatabase()
  target = await openTestDatabase()
  await fill(source.url, ACTIVITIES)
  stores = [source, target].map(({ url }) => openStore({ log }, { connectionString: url, maxConnections: 2 }))
})
afterAll(async () => {
  for (const store of stores ?? []) await store.close()
  await source?.close()
  await target?.close()
})

/** Gathers what is shown, and waits until it shows a part of the samples. */
function makeViewer() {
  const shown: CopyProgress[] = []
  const isMidway = ({ done, total }: CopyProgress) => done > total / 100 && done < total * 0.99
  return {
    shown,
    onProgress: (now: CopyProgress) => void shown.push(now),
    midway: () =>
      eventually(() => shown.some(isMidway), {
        what: 'progress in the middle of the samples',
      }),
  }
}

function expectWhole(shown: readonly CopyProgress[]): void {
  const total = shown[0]?.total
  expect(total).toBeGreaterThan(ACTIVITIES * 2_000)
  expect(shown[0]).toEqual({ done: 0, total })
  expect(shown.at(-1)).toEqual({ done: total, total })
  const done = shown.map((now) => now.done)
  expect(done).toEqual(done.toSorted((a, b) => a - b))
}

it('a backup and its restore show how many rows are copied, also in the middle of a table', async () => {
  const [from, to] = stores
  if (!from || !to) throw new Error('both stores are open')
  const pieces: Buffer[] = []
  const writing = makeViewer()
  const write = async (bytes: Buffer) => {
    pieces.push(bytes)
    // Parts are compressed ahead of the one that is written.
    if (bytes.includes('training.samples/000001')) await writing.midway()
  }
  await writeBackup({ store: from, now: systemClock }, { write, signal, onProgress: writing.onProgress })
  expectWhole(writing.shown)

  const reading = makeViewer()
  // Some parts are read ahead; those before them are copied by then. An entry begins with its name.
  const last = pieces.findLastIndex((piece) => piece.indexOf('training.samples/') === 0)
  async function* slowly() {
    for (const [index, piece] of pieces.entries()) {
      if (index === last) await reading.midway()
      yield piece
    }
  }
  await restoreBackup(
    { log },
    {
      ...{ connectionString: target.url, archive: await openArchive(slowly()), signal },
      onProgress: reading.onProgress,
    },
  )
  expectWhole(reading.shown)
})
