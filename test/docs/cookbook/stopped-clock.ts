import pg from 'pg'

/**
 * Writes `at` into the views of a database in the place of `now()`, so that the same history gives the same answers on any
 * day.
 */
export async function stopClock(databaseUrl: string, at: Date): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string; definition: string }>(
      `select format('%I.%I', schemaname, viewname) as name, definition
       from pg_views where schemaname = 'training' and definition like '%now()%' order by viewname`,
    )
    for (const { name, definition } of rows) {
      const moment = `'${at.toISOString()}'::timestamptz`
      await client.query(`create or replace view ${name} as ${definition.replaceAll('now()', moment)}`)
    }
  } finally {
    await client.end()
  }
}
