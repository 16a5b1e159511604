import { dirname } from 'node:path'
import { modulePath } from '../kit/built-modules.ts'
import { type ProcessOptions, type Running, startNode } from '../kit/processes.ts'

export type Child = Running & { opened: Promise<{ url: string; owned: boolean }> }

/**
 * A process that opens the embedded Postgres of a folder and prints a line of JSON. With `insert`, it then commits rows one by one and
 * prints each acknowledged row. It closes on SIGTERM.
 */
const SCRIPT = `
const [, module, dataDir, then] = process.argv
const { openEmbeddedPostgres } = await import(module)
const { default: pg } = await import('pg')
const log = { debug() {}, info() {}, warn() {}, error: (...line) => console.error(JSON.stringify(line)) }
const database = await openEmbeddedPostgres({ log }, { dataDir })
process.once('SIGTERM', async () => {
  await database.close()
  process.exit(0)
})
setInterval(() => {}, 1_000)
console.log(JSON.stringify({ url: database.url, owned: database.owned }))
if (then === 'insert') {
  const client = new pg.Client(database.url)
  await client.connect()
  await client.query('CREATE TABLE IF NOT EXISTS committed (number int)')
  const { rows } = await client.query('SELECT coalesce(max(number), 0) AS last FROM committed')
  for (let number = rows[0].last + 1; ; number++) {
    await client.query('INSERT INTO committed VALUES ($1)', [number])
    console.log('committed ' + number)
  }
}
`

/** Starts such a process. */
export function startChild(
  dataDir: string,
  then: 'wait' | 'insert' = 'wait',
  options: ProcessOptions = {},
): Child {
  // Node resolves a module from the command line in the working directory, and libraries from there.
  const module = modulePath('embedded/embedded')
  const cwd = dirname(module)
  const child = startNode(['--input-type=module', '-e', SCRIPT, module, dataDir, then], { cwd, ...options })
  const opened = child
    .waitForLine(/^\{"url"/)
    .then((line) => JSON.parse(line) as { url: string; owned: boolean })
  // Code that awaits the promise sees the failure; no code has to.
  opened.catch(() => undefined)
  return { ...child, opened }
}
