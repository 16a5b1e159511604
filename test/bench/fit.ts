import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readContents } from '../../src/core/fit/fit-contents.ts'
import { openStore } from '../../src/core/store/store.ts'
import { recordFit } from '../../src/core/store/uploads/kept-fit.ts'
import { normalizeFit } from '../../src/core/upload/fit-rows.ts'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { makeRecordedFit } from '../core/fit/make-recorded-fit.ts'
import { makeSilentLog } from '../kit/log.ts'
import { openBench, quantile, type Row, seconds, timed } from './rig.ts'

/** About 10 MB of records, with sensors in each. */
const SECONDS = 88_000
const RUNS = 5

/**
 * Measures how long a FIT file of 10 MB takes from its bytes to its rows, against COPY of its rows alone, and the room that a record
 * takes: of that file, and of all files of the folder that FIT_FILES names, such as real ones.
 */
export async function benchFit(release: ReleaseStack): Promise<Row[]> {
  const bench = await openBench(release, { rides: 1, seconds: 1 })
  const store = openStore({ log: makeSilentLog() }, { connectionString: bench.databaseUrl })
  release.defer('store', () => store.close())
  const record = async (bytes: Uint8Array) => {
    const contentId = createHash('sha256').update(bytes).digest('hex')
    const rows = normalizeFit(readContents(bytes), { sizeBytes: bytes.length, readAt: new Date() })
    await bench.client.query(
      `insert into training.uploads (account_id, content_id, file_name, size_bytes, state, seen_at)
       select account_id, $1, 'ride.fit', $2, 'mirrored', now() from training.accounts`,
      [contentId, bytes.length],
    )
    const { rows: accounts } = await bench.client.query('select account_id as id from training.accounts')
    await store.transaction((tx) => recordFit(tx, { accountId: accounts[0].id, contentId }, rows))
  }
  const bytes = makeRecordedFit({ seconds: SECONDS })
  const times: number[] = []
  const copies: number[] = []
  for (let run = 0; run < RUNS; run++) {
    await bench.client.query('truncate training.fit_records; delete from training.fit_files')
    await bench.client.query('delete from training.uploads')
    times.push(await timed(() => record(bytes)))
    await bench.client.query('create table copied as select * from training.fit_records with no data')
    await bench.client.query(`copy training.fit_records to '${bench.folder}/records'`)
    copies.push(await timed(() => bench.client.query(`copy copied from '${bench.folder}/records'`)))
    await bench.client.query('drop table copied')
  }
  const size = `${(bytes.length / 1e6).toFixed(1)} MB, ${SECONDS.toLocaleString('en')} records`
  const median = quantile(times, 0.5)
  const rows: Row[] = [
    [`a FIT file of ${size}, from its bytes to its rows`, seconds(median), '2 s'],
    ['  by COPY of its records alone', (median / quantile(copies, 0.5)).toFixed(1)],
    ['  room of a record with all columns', await roomOf(bench.client)],
  ]
  const folder = process.env.FIT_FILES
  if (!folder || !existsSync(folder)) return rows
  await bench.client.query('truncate training.fit_records; delete from training.fit_files')
  for (const name of readdirSync(folder)) {
    const content = readFileSync(join(folder, name))
    if (readContents(content).head.fileId?.type === 4) await record(content).catch(() => undefined)
  }
  return [...rows, ['room of a record of real files', await roomOf(bench.client), '100 B']]
}

async function roomOf(client: {
  query(text: string): Promise<{ rows: Array<{ room: string }> }>
}): Promise<string> {
  await client.query('vacuum full training.fit_records')
  const { rows } = await client.query(
    `select round(pg_total_relation_size('training.fit_records')::numeric / count(*), 1) || ' B' as room from training.fit_records`,
  )
  return rows[0]?.room ?? ''
}
