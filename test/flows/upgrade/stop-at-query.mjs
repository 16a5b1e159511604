import pg from 'pg'
import { watchQueries } from '../../kit/on-query.mjs'

// Loaded before the program by NODE_OPTIONS: stops it at the query with the number or text STOP_AT, in the way of STOP_HOW, and prints that
// query and its number.

const { STOP_AT: at, STOP_HOW: how } = process.env
let count = 0
let stopped = false

watchQueries((text, socket, send) => {
  if (stopped) return send()
  count += 1
  if (String(count) !== at && text !== at) return send()
  stopped = true
  process.stderr.write(`stopped at ${count}: ${text.slice(0, 60)}\n`)
  if (how === 'killed') {
    // By then the system has the bytes.
    setImmediate(() => process.kill(process.pid, 'SIGKILL'))
  } else {
    // Holds back this message and later ones.
    socket.cork()
    terminate(socket.localPort).then(() => socket.uncork())
  }
  return send()
})

async function terminate(port) {
  const client = new pg.Client({ connectionString: String(process.env.DATABASE_URL) })
  await client.connect()
  const session = 'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE client_port = $1'
  await client.query(session, [port])
  await client.end()
}
