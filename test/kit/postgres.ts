import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import './provided.ts'

export type TestDatabase = {
  url: string
  close(): Promise<void>
}

/**
 * Opens a database of its own: a clone of the migrated template, or empty with `migrated: false`. `close` drops it, even
 * when a connection was forgotten.
 */
export async function openTestDatabase(options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  const server = inject('postgresUrl')
  const name = `test_${randomBytes(6).toString('hex')}`
  const template = inject('template')
  let clause = ''
  if (options.migrated ?? true) {
    if (!('database' in template)) throw new Error(`no migrated database to clone: ${template.reason}`)
    clause = ` TEMPLATE ${template.database}`
  }
  await runStatement(server, `CREATE DATABASE ${name}${clause}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, close: () => runStatement(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

/** Runs one statement on a connection of its own and returns its rows. */
export async function queryOnce(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text, values)).rows
  } finally {
    await client.end()
  }
}

async function runStatement(url: string, text: string): Promise<void> {
  await queryOnce(url, text)
}
