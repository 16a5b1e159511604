import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import type { Finished } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { restoreAsItWas } from './as-it-was.ts'
import { contentOf } from './database-state.ts'
import { openNextVersion } from './next-version.ts'

/** For each release: a backup of a database that its tarball made, and the release's answers from that database. See make-database.ts. */
const made = fileURLToPath(new URL('made-by/', import.meta.url))
const VERSIONS = readdirSync(made).flatMap((name) => /^(.*)\.backup$/.exec(name)?.[1] ?? [])
vi.setConfig({ testTimeout: 240_000 })
/** While a command reads, the database may be older or newer than the command; the command must then say so and name the remedy. */
const OTHER_VERSION = /made by a newer musette|older than this version of musette; run: musette migrate/
/** The clock of an activity may change, because this version also derives it from the first position of the FIT file. */
const CLOCK = ['started_at_local', 'timezone', 'timezone_source']
/**
 * The columns that this version derives again, by table: the clock, the fit of the form, climbs without noise, and the watts of curves,
 * computed from the stored samples. A different last digit changes the version of the content.
 */
const DERIVED_ANEW: Readonly<Record<string, readonly string[]>> = {
  'training.activities': [...CLOCK, 'updated_at'],
  'training.form_constants': ['residual', 'fitted_at', 'inputs'],
  'training.power_curves': ['watts'],
  'training.ride_measures': ['ascent_m', 'descent_m'],
  'musette.content_versions': ['version'],
}
const CURVES =
  'select activity_id, duration_s, round(watts::numeric, 3)::text as watts from training.power_curves order by 1, 2'

/** The hint for a statement that sums a column of type real. */
const SUM_HINT = /^HINT: .* single precision, .*\n/

type Run = (args: readonly string[], env: Record<string, string>) => Promise<Finished>

describe.each(VERSIONS)('a database of musette %s', (version) => {
  const next = openForAll(openNextVersion)

  it('is upgraded with unchanged content while commands read it', async () => {
    const { env, url } = await openEmpty()
    await restoreAsItWas(join(made, `${version}.backup`), url)
    const all = await contentOf(url)
    const tables = all.tables.map(({ name, columns }) => ({
      name,
      columns: columns.filter((column) => !DERIVED_ANEW[name]?.includes(column)),
    }))
    const before = await contentOf(url, { ...all, tables })
    const curves = await queryOnce(url, CURVES)
    const [feed] = await queryOnce(url, 'select max(change_id) as last from training.changes')
    let upgraded = false
    const reading = readMeanwhile(env, () => upgraded)
    const migrated = await next.musette(['migrate'], env)
    upgraded = true
    expect(migrated.code, migrated.stderr).toBe(0)
    for (const { code, stdout, stderr } of await reading)
      if (code === 0) expect(stdout).not.toBe('')
      else expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(OTHER_VERSION) })
    const found = `delete from training.changes where change_id > $1
        returning kind, array(select jsonb_object_keys(detail) order by 1) as columns`
    for (const change of await queryOnce(url, found, [feed?.last]))
      expect(change).toEqual({ kind: 'activity.changed', columns: CLOCK })
    expect((await contentOf(url, before)).rows).toEqual(before.rows)
    expect(await queryOnce(url, CURVES)).toEqual(curves)
    await expectAnswers(version, next.musette, env)
  })

  it('is restored from its backup by this version, with the same answers', async () => {
    const { env } = await openEmpty()
    const musette: Run = (args, more) => runVerb(args, { env: more })
    const restored = await musette(['restore', join(made, `${version}.backup`)], env)
    expect(restored.code, restored.stderr).toBe(0)
    await expectAnswers(version, musette, env)
  })
})

async function openEmpty() {
  const database = await openTestDatabase({ migrated: false })
  const folder = await openTempDir('older')
  onTestFinished(async () => {
    await folder.close()
    await database.close()
  })
  return { url: database.url, env: { DATABASE_URL: database.url, MUSETTE_DATA_DIR: folder.path } }
}

/** Runs reading commands of this version until `isEnough`. */
async function readMeanwhile(env: Record<string, string>, isEnough: () => boolean): Promise<Finished[]> {
  const ended: Finished[] = []
  const lines = [['status'], ['sql', 'select count(*) from training.ride_overview'], ['changes', '--json']]
  for (let round = 0; round === 0 || !isEnough(); round++)
    ended.push(...(await Promise.all(lines.map((args) => runVerb(args, { env })))))
  return ended
}

/** Leaves out the clock, and the digits of watts that a table cannot store exactly. */
function asAnswered(name: string, value: unknown): unknown {
  if (CLOCK.includes(name)) return undefined
  return name === 'watts' ? Number(value).toFixed(3) : value
}

async function expectAnswers(version: string, musette: Run, env: Record<string, string>): Promise<void> {
  const text = await readFile(join(made, `${version}.jsonl`), 'utf8')
  const answers = text
    .trim()
    .split('\n')
    .map((line): { sql: string; rows: unknown } => JSON.parse(line, asAnswered))
  expect(answers.length).toBeGreaterThan(3)
  for (const { sql, rows } of answers) {
    const { stdout, stderr: all } = await musette(['sql', '--json', sql], env)
    const stderr = all.replace(SUM_HINT, '')
    expect({ sql, stderr, rows: JSON.parse(stdout, asAnswered) }).toEqual({ sql, stderr: '', rows })
  }
}
