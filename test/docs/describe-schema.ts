import { describeSchema as describeCatalog } from '../../src/features/mcp/schema-text.ts'
import { connect } from '../kit/connect.ts'

const ORIGIN =
  'This file is written by `npm run docs` from the comments in the database; a test fails when the two differ. `psql` ' +
  'shows the same with `\\d+ training.activities`.'

/** Describes schema `training` of the database at `url`, as Markdown. */
export async function describeSchema(url: string): Promise<string> {
  const client = await connect(url)
  try {
    await client.query('SET search_path = pg_catalog')
    return await describeCatalog(async (text) => (await client.query(text)).rows, ORIGIN)
  } finally {
    await client.end()
  }
}
