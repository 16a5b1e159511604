// Writes docs/musette.1, the man page, docs/schema.md, the data dictionary, and the answers in docs/cookbook.md: `npm run docs`.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { migrate } from '../../src/core/store/migrate.ts'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { COOKBOOK } from '../../src/features/mcp/cookbook/cookbook.ts'
import { answerAll } from './cookbook/answer.ts'
import { mirrorHistory } from './cookbook/history.ts'
import { withRecipes } from './cookbook/recipes.ts'
import { describeSchema } from './describe-schema.ts'
import { dateOf, makeManPage } from './man-page.ts'

const SCHEMA = fileURLToPath(new URL('../../docs/schema.md', import.meta.url))
const COOKBOOK_FILE = fileURLToPath(new URL('../../docs/cookbook.md', import.meta.url))

const MAN_PAGE = fileURLToPath(new URL('../../docs/musette.1', import.meta.url))

const before = await readFile(MAN_PAGE, 'utf8')
if (before !== makeManPage(dateOf(before))) {
  await writeFile(MAN_PAGE, makeManPage(new Date().toISOString().slice(0, 10)))
  process.stderr.write('musette: docs/musette.1 is written\n')
}

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
