// Writes docs/schema.md, the data dictionary, and the answers in docs/cookbook.md: `npm run docs`.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { COOKBOOK } from '../../src/mcp/cookbook/cookbook.ts'
import { migrate } from '../../src/store/migrate.ts'
import { answerAll } from './cookbook/answer.ts'
import { mirrorHistory } from './cookbook/history.ts'
import { withRecipes } from './cookbook/recipes.ts'
import { describeSchema } from './describe-schema.ts'

const SCHEMA = fileURLToPath(new URL('../../docs/schema.md', import.meta.url))
const COOKBOOK_FILE = fileURLToPath(new URL('../../docs/cookbook.md', import.meta.url))

const log = pino({ level: 'silent' })
const folder = await mkdtemp(join(tmpdir(), 'musette-docs-'))
const server = await openEmbeddedPostgres({ log }, { dataDir: folder })
try {
  await migrate({ connectionString: server.url, log })
  await writeFile(SCHEMA, await describeSchema(server.url))
  process.stderr.write('musette: docs/schema.md is written\n')
  await mirrorHistory(log, { databaseUrl: server.url, dataDir: folder })
  const markdown = await readFile(COOKBOOK_FILE, 'utf8')
  const questions = COOKBOOK.map(({ sql }) => sql)
  await writeFile(COOKBOOK_FILE, withRecipes(markdown, COOKBOOK, await answerAll(server.url, questions)))
  process.stderr.write('musette: docs/cookbook.md is written\n')
} finally {
  await server.close()
  await rm(folder, { recursive: true, force: true })
}
