import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openEncoderThread } from '../../../src/features/export/parquet/encoder-thread.ts'
import { type EncodeGroup, encodeParquet } from '../../../src/features/export/parquet/parquet-encoder.ts'
import { type ExportColumn, makeValues } from '../../../src/features/export/rows/exported-columns.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const ROWS_A_GROUP = 65_536
const COLUMNS: ExportColumn[] = [
  { name: 'whole', type: 'int32' },
  { name: 'measured', type: 'float' },
  { name: 'moment', type: 'instant' },
  { name: 'text', type: 'text' },
  { name: 'same', type: 'text' },
  { name: 'single', type: 'text' },
]

/** A text of its own for each row but every fourth one, which is NULL. */
function makeSingle(rows: number, nulls: boolean) {
  const texts = Array.from({ length: rows }, (_, row) => (nulls || row % 4 === 0 ? '' : `ü${row}`))
  let end = 0
  const ends = Int32Array.from(texts, (text) => {
    end += Buffer.byteLength(text)
    return end
  })
  const bytes = Uint8Array.from(Buffer.from(texts.join('')))
  return { values: [], nulls: Uint8Array.from(texts, (text) => (text ? 0 : 1)), utf8: { bytes, ends } }
}

/** One page of rows: `measured` is NULL in every third one, `text` everywhere, and all is when `nulls` is set. */
async function* makePages(rows: number, { nulls = false } = {}) {
  const [whole, measured, moment, text] = COLUMNS.map(({ type }) => makeValues(type, rows))
  for (let row = 0; row < rows; row++) {
    if (whole) whole.values[row] = row
    if (measured) measured.values[row] = row / 8
    if (measured) measured.nulls[row] = row % 3 === 0 ? 1 : 0
    if (moment) moment.values[row] = BigInt(row)
  }
  text?.nulls.fill(1)
  const same = { values: ['all'], nulls: new Uint8Array(rows), isSame: true as const }
  const columns = [whole, measured, moment, text, same, makeSingle(rows, nulls)].flatMap(
    (column) => column ?? [],
  )
  if (nulls) for (const column of columns) column.nulls.fill(1)
  if (rows > 0) yield { rows, columns }
}

async function bytesOf(rows: number, options?: { nulls?: boolean }, encode?: EncodeGroup): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of encodeParquet('rows', COLUMNS, makePages(rows, options), encode))
    pieces.push(piece)
  return Buffer.concat(pieces)
}

describe('the thread that encodes', () => {
  it('makes the same bytes as without it, for no rows, a group, one more row, and only NULL', async () => {
    const thread = openEncoderThread()
    onTestFinished(() => thread.close())
    for (const rows of [0, ROWS_A_GROUP, ROWS_A_GROUP + 1])
      for (const nulls of [false, true]) {
        const bytes = await bytesOf(rows, { nulls }, thread.encode)
        expect(bytes.equals(await bytesOf(rows, { nulls }))).toBe(true)
      }
  })

  it.each([
    ["throw new Error('no memory')", 'no memory'],
    ['process.exit(7)', 'exit code 7'],
  ])('ends the export with the command to run when it fails: %s', async (death, why) => {
    const folder = await openTempDir('encoder-thread')
    onTestFinished(() => folder.close())
    const script = join(folder.path, 'script.mjs')
    const listen = `import { parentPort } from 'node:worker_threads'\nparentPort.on('message', () => { ${death} })\n`
    await writeFile(script, listen)
    const thread = openEncoderThread(script)
    onTestFinished(() => thread.close())
    const dying = bytesOf(ROWS_A_GROUP * 2, {}, thread.encode)
    await expect(dying).rejects.toMatchObject({
      code: 'encoder_died',
      message: expect.stringContaining(why),
    })
    await expect(dying).rejects.toThrow('run it again: musette export --all')
    await expect(bytesOf(1, {}, thread.encode)).rejects.toMatchObject({ code: 'encoder_died' })
  })
})
