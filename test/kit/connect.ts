import pg from 'pg'

/**
 * Opens a plain connection of the driver, with the settings of its server. The caller ends it. If the server ends it, the next statement
 * fails; without the listener Node would end the process, in the middle of another test.
 */
export async function connect(url: string, config: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ ...config, connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** Runs work on a connection of `connect`, and ends the connection. */
export async function withConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connect(url)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Makes a pool of plain connections, which keeps no process alive. */
export function makeConnections(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 50, idleTimeoutMillis: 500, allowExitOnIdle: true })
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}
