import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { migrate } from '../../src/core/store/migrate.ts'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { COOKBOOK } from '../../src/features/mcp/cookbook/cookbook.ts'
import { listImports, reach, readCheckout } from '../near/imports.ts'
import { answerAll } from './cookbook/answer.ts'
import { mirrorHistory } from './cookbook/history.ts'
import { withRecipes } from './cookbook/recipes.ts'
import { describeSchema } from './describe-schema.ts'
import { dateOf, makeManPage } from './man-page.ts'

// Writes docs/musette.1, the man page, docs/schema.md, the data dictionary, and the answers in docs/cookbook.md: `npm run docs`.
// A page is left when nothing has changed since it was written here: neither the page, nor the code that makes it, nor a migration.

const root = fileURLToPath(new URL('../..', import.meta.url))
const MADE = join(root, 'dist/.docs.json')
const log = pino({ level: 'silent' })

/** The pages, from which modules each is made, and how: on a migrated database, from what is written there. */
const PAGES = [
  {
    path: 'docs/musette.1',
    from: ['test/docs/man-page.ts'],
    make: async (before: string) =>
      before === makeManPage(dateOf(before)) ? before : makeManPage(new Date().toISOString().slice(0, 10)),
  },
  {
    path: 'docs/schema.md',
    from: ['test/docs/describe-schema.ts', 'src/core/store/migrate.ts'],
    make: async () => withDatabase(({ url }) => describeSchema(url)),
  },
  {
    path: 'docs/cookbook.md',
    from: [
      'src/features/mcp/cookbook/cookbook.ts',
      ...['answer', 'history', 'recipes'].map((name) => `test/docs/cookbook/${name}.ts`),
    ],
    make: async (before: string) =>
      withDatabase(async ({ url, dataDir }) => {
        await mirrorHistory(log, { databaseUrl: url, dataDir })
        return withRecipes(
          before,
          COOKBOOK,
          await answerAll(
            url,
            COOKBOOK.map(({ sql }) => sql),
          ),
        )
      }),
  },
]

const checkout = readCheckout(root)
const made: Record<string, string> = existsSync(MADE) ? JSON.parse(readFileSync(MADE, 'utf8')) : {}
for (const { path, from, make } of PAGES) {
  if (made[path] === digestOf(path, from)) {
    say(`${path} is left: nothing that it is made of has changed`)
    continue
  }
  writeFileSync(join(root, path), await make(readFileSync(join(root, path), 'utf8')))
  made[path] = digestOf(path, from)
  say(`${path} is written`)
}
mkdirSync(dirname(MADE), { recursive: true })
writeFileSync(MADE, JSON.stringify(made))

/** Returns a digest of a page, of all code that these modules load, and of the migrations. */
function digestOf(path: string, modules: readonly string[]): string {
  const code = [...reach(modules, (file) => listImports(checkout, file))]
  const migrations = readdirSync(join(root, 'drizzle')).filter((name) => name.endsWith('.sql'))
  const digest = createHash('sha256').update(readFileSync(join(root, path)))
  for (const file of code.sort()) digest.update(checkout.get(file) ?? '')
  for (const name of migrations.sort()) digest.update(readFileSync(join(root, 'drizzle', name)))
  return digest.digest('hex')
}

async function withDatabase<T>(work: (place: { url: string; dataDir: string }) => Promise<T>): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'musette-docs-'))
  const server = await openEmbeddedPostgres({ log }, { dataDir })
  try {
    await migrate({ connectionString: server.url, log })
    return await work({ url: server.url, dataDir })
  } finally {
    await server.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

function say(sentence: string): void {
  process.stderr.write(`musette: ${sentence}\n`)
}
