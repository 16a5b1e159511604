import { cp, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeLaterMigrations } from '../../kit/later-migrations.ts'
import { distPath, runNode, startNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const HOOK = fileURLToPath(new URL('stop-at-query.mjs', import.meta.url))

// Neither migration may run twice: a second run would count further or fail.
const MIGRATIONS = {
  '9998_rewrite': [
    `ALTER TABLE training.activities ADD COLUMN work_j double precision, ADD COLUMN rewritten integer NOT NULL DEFAULT 0`,
    `UPDATE training.activities a SET rewritten = rewritten + 1,
       work_j = (SELECT sum(power::numeric) FROM training.samples s WHERE s.activity_id = a.activity_id)`,
    `COMMENT ON COLUMN training.activities.work_j IS 'Derived: work of the whole activity, J'`,
    // A default that is not constant rewrites every row.
    `ALTER TABLE training.samples ADD COLUMN mark double precision DEFAULT random()`,
    `CREATE TABLE training.gears (gear_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL)`,
    `INSERT INTO training.gears (name) SELECT DISTINCT activity_type FROM training.activities`,
  ],
  '9999_index_and_view': [
    'CREATE INDEX activities_by_work ON training.activities (account_id, work_j DESC)',
    `DO $$ BEGIN
       EXECUTE 'CREATE OR REPLACE VIEW training.records AS SELECT v.*, 2 AS made_by FROM ('
         || rtrim(pg_get_viewdef('training.records'), ';') || ') v';
     END $$`,
  ],
}

/** Where a program is stopped: at the query with this number (from 1) or this text, in one of two ways. */
export type Stop = {
  query: number | string
  /** `killed`: SIGKILL once the query is sent; `terminated`: the server ends the session before the query arrives */
  how: 'killed' | 'terminated'
}

/** Opens the next version: a copy of this program in a separate folder with two more migrations, or with those of a test. */
export async function openNextVersion(migrations: Readonly<Record<string, readonly string[]>> = MIGRATIONS) {
  const folder = await openTempDir('next')
  try {
    await cp(distPath(''), join(folder.path, 'dist'), { recursive: true })
    await cp('package.json', join(folder.path, 'package.json'))
    await writeLaterMigrations(join(folder.path, 'drizzle'), migrations)
    await symlink(join(process.cwd(), 'node_modules'), join(folder.path, 'node_modules'))
  } catch (error) {
    await folder.close()
    throw error
  }
  const main = join(folder.path, 'dist/main.js')
  const hookOf = ({ query, how }: Stop) => ({
    NODE_OPTIONS: `--import=${HOOK}`,
    STOP_AT: String(query),
    STOP_HOW: how,
  })
  return {
    /** starts a verb of the next version; the caller must end it */
    start: (args: readonly string[], env: Record<string, string>) =>
      startNode([main, ...args], { cwd: folder.path, env }),
    /** runs a verb of the next version to its end; a stopped verb names the query on stderr */
    musette: (args: readonly string[], env: Record<string, string>, stop?: Stop) =>
      runNode([main, ...args], { cwd: folder.path, env: { ...env, ...(stop && hookOf(stop)) } }),
    close: () => folder.close(),
  }
}
