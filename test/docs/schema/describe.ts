import pg from 'pg'
import { findCatalog } from './catalog.ts'
import { formatCatalog } from './markdown.ts'

/** Describes schema `training` of the database at `url`, as Markdown. */
export async function describeSchema(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return formatCatalog(await findCatalog(client))
  } finally {
    await client.end()
  }
}
