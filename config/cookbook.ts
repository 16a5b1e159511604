// Writes the answers of docs/cookbook.md anew, from the history of the stand-in service: `npm run docs`.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { openEmbeddedPostgres } from '../src/embedded/embedded.ts'
import { migrate } from '../src/store/migrate.ts'
import { answerAll } from './cookbook/answer.ts'
import { mirrorHistory } from './cookbook/history.ts'
import { parseRecipes, withAnswers } from './cookbook/recipes.ts'

const FILE = fileURLToPath(new URL('../docs/cookbook.md', import.meta.url))

const log = pino({ level: 'silent' })
const folder = await mkdtemp(join(tmpdir(), 'musette-cookbook-'))
const server = await openEmbeddedPostgres({ log }, { dataDir: folder })
try {
  await migrate({ connectionString: server.url, log })
  await mirrorHistory(log, { databaseUrl: server.url, dataDir: folder })
  const markdown = await readFile(FILE, 'utf8')
  const questions = parseRecipes(markdown).map(({ sql }) => sql)
  await writeFile(FILE, withAnswers(markdown, await answerAll(server.url, questions)))
  process.stderr.write('musette: docs/cookbook.md is written\n')
} finally {
  await server.close()
  await rm(folder, { recursive: true, force: true })
}
