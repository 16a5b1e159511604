// Writes docs/schema.md, the data dictionary, from the comments of a freshly migrated database: `npm run docs`.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { openEmbeddedPostgres } from '../src/embedded/embedded.ts'
import { migrate } from '../src/store/migrate.ts'
import { describeSchema } from './schema-docs/describe.ts'

const FILE = fileURLToPath(new URL('../docs/schema.md', import.meta.url))

const log = pino({ level: 'silent' })
const folder = await mkdtemp(join(tmpdir(), 'musette-docs-'))
const server = await openEmbeddedPostgres({ log }, { dataDir: folder })
try {
  await migrate({ connectionString: server.url, log })
  await writeFile(FILE, await describeSchema(server.url))
  process.stderr.write('musette: docs/schema.md is written\n')
} finally {
  await server.close()
  await rm(folder, { recursive: true, force: true })
}
