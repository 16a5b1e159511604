import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decompress, init } from '@bokuweb/zstd-wasm'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openEncoderThread } from '../../../src/features/export/parquet/encoder-thread.ts'
import { encodeParquet } from '../../../src/features/export/parquet/parquet-encoder.ts'
import { type ExportColumn, findColumnPages } from '../../../src/features/export/rows/exported-columns.ts'
import { openTestStore } from '../../core/store/open.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const ROWS = 70_000
const COLUMNS: ExportColumn[] = [
  { name: 'whole', type: 'int32' },
  { name: 'single', type: 'float' },
  { name: 'double', type: 'double' },
  { name: 'none', type: 'float' },
  { name: 'moment', type: 'instant' },
  { name: 'wall', type: 'wall_clock' },
  { name: 'text', type: 'text' },
]
const QUERY = `select (n * 37) % 1000 - 500 as whole,
    case n % 5 when 0 then null when 1 then 'infinity' when 2 then '-0' else n / -8.0 end::float4 as single,
    case when n > 9 then -n / 3.0::float8 end as double, null::float4 as none,
    case n % 4 when 0 then null when 1 then 'infinity' else timestamptz '1999-12-31Z' + n * interval '1.000007 s' end as moment,
    timestamp '2024-05-01' - n * interval '1 day' as wall,
    case when n % 3 = 0 then null else repeat('ü', n % 4) end as text
  from generate_series(1, ${ROWS}) n`
const AS_NUMBERS = `select whole, single, double, none,
    case when isfinite(moment) then (extract(epoch from moment) * 1000000)::float8 end as moment,
    (extract(epoch from wall) * 1000000)::float8 as wall, text from (${QUERY}) q`

/** Converts bigints to numbers and undefined to null. */
const plain = (value: unknown) => (typeof value === 'bigint' ? Number(value) : (value ?? null))

function openThread(script?: string) {
  const thread = openEncoderThread(script)
  onTestFinished(() => thread.close())
  return thread
}

describe('a Parquet file of a query', () => {
  it('has every value in its row across row groups, and bounds of times and integers', async () => {
    const { store } = await openTestStore()
    const { encode } = openThread()
    const pieces: Uint8Array[] = []
    const held = await store.read(async (tx) => {
      for await (const piece of encodeParquet('rows', COLUMNS, findColumnPages(tx, QUERY, COLUMNS), encode))
        pieces.push(piece)
      return (await tx.client.query<Record<string, unknown>>(AS_NUMBERS)).rows
    })
    await init()
    const bytes = Buffer.concat(pieces)
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
    const compressors = { ZSTD: (data: Uint8Array) => decompress(data) }
    const parsers = { timestampFromMicroseconds: (micros: bigint) => Number(micros) }
    const rows = await parquetReadObjects({ file, compressors, parsers: parsers as never })
    expect(rows).toHaveLength(ROWS)
    const wrong = rows.findIndex((row, index) =>
      COLUMNS.some(({ name }) => !Object.is(plain(row[name]), plain(held[index]?.[name]))),
    )
    expect(wrong).toBe(-1)

    const groups = parquetMetadata(file, { parsers: parsers as never }).row_groups
    expect(groups.map(({ num_rows: count }) => Number(count))).toEqual([65_536, ROWS - 65_536])
    let from = 0
    for (const { columns, num_rows: count } of groups) {
      const part = held.slice(from, from + Number(count))
      from += Number(count)
      for (const [index, { name }] of COLUMNS.entries()) {
        const known = part.flatMap((row) => (row[name] === null ? [] : [row[name] as number | string]))
        const { statistics } = columns[index]?.meta_data ?? {}
        const isMeasured = COLUMNS[index]?.type === 'float' || COLUMNS[index]?.type === 'double'
        expect(statistics === undefined, name).toBe(isMeasured)
        if (isMeasured) continue
        expect(Number(statistics?.null_count)).toBe(part.length - known.length)
        const sorted = known.sort((a, b) => (a < b ? -1 : Number(a > b)))
        expect(plain(statistics?.min_value), name).toEqual(sorted[0] ?? null)
        expect(plain(statistics?.max_value), name).toEqual(sorted.at(-1) ?? null)
      }
    }
  })

  it('fails with the command to type if the encoder thread dies', async () => {
    const { store } = await openTestStore()
    const folder = await openTempDir('encoder-thread')
    onTestFinished(() => folder.close())
    const script = join(folder.path, 'script.mjs')
    const dies = `parentPort.on('message', () => process.exit(7))`
    await writeFile(script, `import { parentPort } from 'node:worker_threads'\n${dies}\n`)
    const { encode } = openThread(script)
    const encodeAll = () =>
      store.read(async (tx) => {
        for await (const _ of encodeParquet('rows', COLUMNS, findColumnPages(tx, QUERY, COLUMNS), encode));
      })
    const message = expect.stringMatching(/exit code 7.*run: musette export --all/)
    for (const _ of [1, 2]) await expect(encodeAll()).rejects.toMatchObject({ code: 'encoder_died', message })
  })
})
