import pg from 'pg'

/** Ends the server's side of a connection, as a restart of Postgres would. */
export async function terminate(url: string, backendPid: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('SELECT pg_terminate_backend($1, 10000)', [backendPid])
  await client.end()
}

/** The process id of a connection's server side. */
export async function backendPidOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid ?? 0
}
