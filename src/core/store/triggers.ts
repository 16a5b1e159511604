import pg from 'pg'

/** A trigger of one of our tables; both names are quoted for SQL. */
type Trigger = { oid: number; name: string; table: string }

/** Finds the enabled triggers of our tables, without Postgres's own for constraints. */
export async function findTriggers(client: pg.ClientBase): Promise<Trigger[]> {
  return findTriggersIn(client, 'O')
}

/**
 * Switches the triggers of our tables off in this transaction, for a restore or a migration: their rows are not a change of
 * the mirror, and a table with deferred triggers that wait cannot be altered. Returns the function that switches those on
 * again that still exist.
 */
export async function disableTriggers(client: pg.ClientBase): Promise<() => Promise<void>> {
  const setAll = async (triggers: readonly Trigger[], state: 'DISABLE' | 'ENABLE') => {
    if (triggers.length === 0) return
    await client.query(
      triggers.map(({ name, table }) => `ALTER TABLE ${table} ${state} TRIGGER ${name}`).join('; '),
    )
  }
  const before = await findTriggers(client)
  await setAll(before, 'DISABLE')
  return async () => {
    const off = await findTriggersIn(client, 'D')
    await setAll(
      off.filter(({ oid }) => before.some((trigger) => trigger.oid === oid)),
      'ENABLE',
    )
  }
}

async function findTriggersIn(client: pg.ClientBase, state: 'O' | 'D'): Promise<Trigger[]> {
  const { rows } = await client.query<Omit<Trigger, 'table'> & { schema: string; table: string }>(
    `SELECT t.oid, t.tgname AS name, n.nspname AS schema, c.relname AS table
     FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname IN ('training', 'musette') AND NOT t.tgisinternal AND t.tgenabled = $1 ORDER BY 3, 4, 2`,
    [state],
  )
  return rows.map(({ oid, name, schema, table }) => ({
    oid,
    name: pg.escapeIdentifier(name),
    table: `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(table)}`,
  }))
}
