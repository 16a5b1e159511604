import { afterAll, expect, onTestFinished, test } from 'vitest'
import { copyOut, decodeRows } from '../../../src/core/store/copy.ts'
import { PostgresClient } from '../../../src/kit/postgres-client.ts'
import { openTestDatabase } from '../../kit/postgres.ts'
import { openLine } from '../../kit/postgres-line.ts'

const database = await openTestDatabase()
afterAll(() => database.close())

const ROWS = "(SELECT n, repeat('x', n % 300) FROM generate_series(1, 2000) n)"

/** Opens a client whose server sends pieces of at most `most` bytes. */
async function openClient(most?: number): Promise<PostgresClient> {
  const line = await openLine(database.url, most)
  const client = new PostgresClient({ connectionString: line.url })
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await line.close()
  })
  return client
}

async function readAll(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const chunk of chunks) all.push(chunk)
  return Buffer.concat(all)
}

test.each([Number.POSITIVE_INFINITY, 1, 7, 1_000])(
  'a COPY in pieces of %i bytes reads all rows and leaves the connection usable',
  async (most) => {
    const client = await openClient(most)
    const copy = copyOut(client, ROWS)
    const rows = [...decodeRows(await readAll(copy.chunks))]
    expect(rows.map(([n]) => n?.readInt32BE())).toEqual(Array.from({ length: 2_000 }, (_, at) => at + 1))
    expect(rows.every(([n, text]) => text?.toString() === 'x'.repeat((n?.readInt32BE() ?? 0) % 300))).toBe(
      true,
    )
    expect(await copy.rows()).toBe(2_000)
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  },
)

test.each([Number.POSITIVE_INFINITY, 4])(
  'a COPY in pieces of %i bytes throws an error that follows some rows',
  async (most) => {
    const client = await openClient(most)
    const copy = copyOut(client, '(SELECT 1 / (1500 - n) FROM generate_series(1, 2000) n)')
    await expect(readAll(copy.chunks)).rejects.toMatchObject({ code: '22012' })
  },
)

test('a COPY reads the rows between notices of Postgres', async () => {
  const client = await openClient(11)
  await client.query(`CREATE FUNCTION pg_temp.tell(n int) RETURNS int LANGUAGE plpgsql
    AS $$ BEGIN IF n % 100 = 0 THEN RAISE NOTICE 'at %', n; END IF; RETURN n; END $$`)
  const copy = copyOut(client, '(SELECT pg_temp.tell(n) FROM generate_series(1, 500) n)')
  expect([...decodeRows(await readAll(copy.chunks))]).toHaveLength(500)
})

test('a COPY reads no more than its reader consumes', async () => {
  const client = await openClient()
  const copy = copyOut(client, "(SELECT repeat('x', 1000) FROM generate_series(1, 50000))")
  const before = client.connection.stream as unknown as { bytesRead: number }
  let read = 0
  for await (const chunk of copy.chunks) {
    if (read === 0) await new Promise((resolve) => setTimeout(resolve, 200))
    if (read === 0) expect(before.bytesRead).toBeLessThan(2_000_000)
    read += chunk.length
  }
  expect(read).toBeGreaterThan(50_000_000)
})

test('a COPY that its reader or the server stops early breaks the connection', async () => {
  const left = await openClient()
  for await (const chunk of copyOut(left, ROWS.replace('2000', '2000000')).chunks) {
    expect(chunk.length).toBeGreaterThan(0)
    break
  }
  await expect(left.query('SELECT 1')).rejects.toThrow()
  const ended = await openClient()
  const endless =
    "(SELECT repeat('x', 1000), pg_terminate_backend(pg_backend_pid()) IS NULL FROM generate_series(1, 5))"
  await expect(readAll(copyOut(ended, endless).chunks)).rejects.toThrow()
})
