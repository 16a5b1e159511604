import pg from 'pg'

// Loaded before the program by NODE_OPTIONS: stops it at its query of the number or the text STOP_AT, as STOP_HOW says, and
// names that query. Plain JavaScript: a compiler would cost every process a second.

const { STOP_AT: at, STOP_HOW: how } = process.env
const { query } = pg.Client.prototype
let count = 0

function watched(...args) {
  count += 1
  const text = String(args[0]).trim().replace(/\s+/g, ' ')
  if (String(count) !== at && text !== at) return Reflect.apply(query, this, args)
  process.stderr.write(`stopped at: ${text.slice(0, 60)}\n`)
  if (how === 'killed') {
    const answer = Reflect.apply(query, this, args)
    // By now the bytes are with the system.
    setImmediate(() => process.kill(process.pid, 'SIGKILL'))
    return answer
  }
  return terminate(Number(this.processID)).then(() => Reflect.apply(query, this, args))
}
Object.assign(pg.Client.prototype, { query: watched })

async function terminate(pid) {
  const client = new pg.Client({ connectionString: String(process.env.DATABASE_URL) })
  await client.connect()
  await client.query('SELECT pg_terminate_backend($1, 5000)', [pid])
  await client.end()
}
