import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
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
import { makeStructure, readStructure, type Structure, writeStructure } from './structure/structure.ts'

// Writes docs/musette.1, the man page, docs/schema.md, the data dictionary, the answers in docs/cookbook.md, and drizzle/structure/,
// what a migrated database has: `npm run docs`. A page is left when nothing has changed since it was written here: neither the page,
// nor the code that makes it, nor a migration.

const root = fileURLToPath(new URL('../..', import.meta.url))
const MADE = join(root, 'dist/.docs.json')
const log = pino({ level: 'silent' })

/** The pages, from which modules each is made, and how: on a database of its own, from what is written there. A page may be a folder. */
const PAGES: ReadonlyArray<{
  path: string
  from: string[]
  make(before: string): Promise<string | Structure>
}> = [
  {
    path: 'docs/musette.1',
    from: ['test/docs/man-page.ts'],
    make: async (before) =>
      before === makeManPage(dateOf(before)) ? before : makeManPage(new Date().toISOString().slice(0, 10)),
  },
  {
    path: 'docs/schema.md',
    from: ['test/docs/describe-schema.ts', 'src/core/store/migrate.ts'],
    make: async () => withMigrated(({ url }) => describeSchema(url)),
  },
  {
    path: 'drizzle/structure',
    from: ['test/docs/structure/structure.ts'],
    make: async () => withEmpty(({ url }) => makeStructure(url)),
  },
  {
    path: 'docs/cookbook.md',
    from: [
      'src/features/mcp/cookbook/cookbook.ts',
      ...['answer', 'history', 'recipes'].map((name) => `test/docs/cookbook/${name}.ts`),
    ],
    make: async (before) =>
      withMigrated(async ({ url, dataDir }) => {
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
  const texts = await make(readPage(path).get('') ?? '')
  if (typeof texts === 'string') writeFileSync(join(root, path), texts)
  else writeStructure(join(root, path), texts)
  made[path] = digestOf(path, from)
  say(`${path} is written`)
}
mkdirSync(dirname(MADE), { recursive: true })
writeFileSync(MADE, JSON.stringify(made))

/** Returns a digest of a page, of all code that these modules load, and of the migrations. */
function digestOf(path: string, modules: readonly string[]): string {
  const code = [...reach(modules, (file) => listImports(checkout, file))].sort()
  const migrations = readdirSync(join(root, 'drizzle')).filter((name) => name.endsWith('.sql'))
  const digest = createHash('sha256').update(JSON.stringify([...readPage(path)]))
  for (const file of code) digest.update(checkout.get(file) ?? '')
  for (const name of migrations.sort()) digest.update(name).update(readFileSync(join(root, 'drizzle', name)))
  return digest.digest('hex')
}

/** Reads the text of a page, by an empty name, or those of a folder. */
function readPage(path: string): Structure {
  const place = join(root, path)
  if (!existsSync(place)) return new Map()
  return statSync(place).isDirectory() ? readStructure(place) : new Map([['', readFileSync(place, 'utf8')]])
}

type Place = { url: string; dataDir: string }

async function withEmpty<T>(work: (place: Place) => Promise<T>): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'musette-docs-'))
  const server = await openEmbeddedPostgres({ log }, { dataDir })
  try {
    return await work({ url: server.url, dataDir })
  } finally {
    await server.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

function withMigrated<T>(work: (place: Place) => Promise<T>): Promise<T> {
  return withEmpty(async (place) => {
    await migrate({ connectionString: place.url, log })
    return work(place)
  })
}

function say(sentence: string): void {
  process.stderr.write(`musette: ${sentence}\n`)
}
