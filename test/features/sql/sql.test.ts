import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findBinary } from '../../kit/binaries.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { distPath, startNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { startOnTerminal } from '../../kit/terminal.ts'
import { runVerb } from '../../kit/verbs.ts'

const main = distPath('main.js')
const STOPPED = 'musette: stopped; the statement was cancelled\n'
/** A query with more rows than a call can have arguments, and than the small heap below could hold. */
const MANY = 'select i, repeat(md5(i::text), 6) as sums from generate_series(1, 130000) as i'
/** Timeout, ms: garbage collection is frequent in a small heap, and a dozen processes start slowly on a busy machine. */
const MANY_MS = 180_000
const CODE = '("$@"; echo "code $?" >&2)'
const SMALL_HEAP = '--max-old-space-size=48'

const database = openForAll(openTestDatabase)
const folder = openForAll(() => openTempDir('sql'))

const env = () => ({ DATABASE_URL: database.url, MUSETTE_DATA_DIR: folder.path, MUSETTE_HTTP: 'off' })
const sql = (args: readonly string[], more: Record<string, string> = {}) =>
  runVerb(['sql', ...args], { env: { ...env(), ...more } })
const print = async (...args: string[]) => (await sql(args)).stdout

/** Runs a shell command in which "$@" is `musette sql` with a small heap and these arguments. */
async function inShell(command: string, args: readonly string[]) {
  const words = ['-c', command, 'sh', process.execPath, SMALL_HEAP, main, 'sql', ...args]
  return promisify(execFile)('sh', words, { env: { PATH: process.env.PATH, ...env() } })
}

const running = () =>
  queryOnce(
    database.url,
    `select query from pg_stat_activity where application_name = 'musette sql' and state = 'active'
      and datname = current_database() and query like '%begun%'`,
  )

describe('musette sql', () => {
  it('prints every column and value without loss, as a table and as JSON', async () => {
    const query = "select 187 as max, 160 as max, 0 as min, 'x' as max_2"
    expect(await print(query)).toBe('max  max  min  max_2\n───  ───  ───  ─────\n187  160    0  x\n(1 row)\n')
    expect(await print('--csv', query)).toBe('max,max,min,max_2\n187,160,0,x\n')
    expect(await print('--json', query)).toBe('[{"max":187,"max_3":160,"min":0,"max_2":"x"}]\n')
    const odd = `select 12345678901234567890 as n, 9007199254740993 as b, 'NaN'::float8 as f, 0.1::float4 as r, true as t,
      null as z, '{"a":  1.00}'::json as j, array[1,2] as list, chr(155) as c; select 1 as a where false; set work_mem = 64`
    expect(await print('--json', odd)).toBe(
      '[{"n":"12345678901234567890","b":"9007199254740993","f":"NaN","r":0.1,"t":true,"z":null,"j":{"a":  1.00},' +
        '"list":"{1,2}","c":"\\u009b"}]\n[]\n[]\n',
    )
    expect(await sql(['--json', '--csv', 'select 1'])).toMatchObject({ code: 2, stdout: '' })
    for (const form of [[], ['-x']]) {
      const steers = await print(...form, `select 'a\u001b[31m\u0007\rz' as "\u001b]0;"`)
      expect(steers).toMatch(/\\x1B\]0;.*a\\x1B\[31m\\x07\\rz/s)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
      expect(steers).not.toMatch(/[\u001b\u0007\r]/)
    }
    const copy = 'copy (values (1, null), (2, null)) to stdout'
    expect(await print(copy)).toBe('1\t\\N\n2\t\\N\n')
    expect(await sql(['--json', copy])).toMatchObject({ code: 2, stdout: '' })
  })

  it.each([
    ['a table', []],
    ['one value per line', ['-x']],
    ['CSV', ['--csv']],
    ['JSON', ['--json']],
  ])('prints no control character on a terminal: %s', async (_form, form) => {
    if (findBinary(['script']) === undefined) return
    const query = `select e'\\x1b[31m\\x07\\u009b' as e`
    for (const text of [query, ...(form.includes('--json') ? [] : [`copy (${query}) to stdout`])]) {
      const typed = startOnTerminal([main, 'sql', ...form, text], { cwd: folder.path, env: env() })
      const { code, screen } = await typed.finished
      expect([code, screen]).toEqual([0, expect.stringMatching(/x1b|u001b/i)])
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
      expect(screen).not.toMatch(/[\u001b\u0007\u009b]/)
    }
  })

  it.each([
    [
      'prints any number of rows in constant memory as a table',
      '"$@" | tail -n 1',
      [],
      '(130000 rows)\n',
      '',
    ],
    ['prints any number of rows in constant memory as CSV', '"$@" | wc -l', ['--csv'], '130001\n', ''],
    [
      'exits 0 without a message if its reader stops',
      `${CODE} | head -n 1`,
      ['--csv'],
      'i,sums\n',
      'code 0\n',
    ],
  ])(
    '%s',
    async (_, command, options, stdout, stderr) => {
      expect(await inShell(command, [...options, MANY])).toEqual({ stdout, stderr })
    },
    MANY_MS,
  )

  it('cancels the statement at the server on SIGINT and SIGTERM', async () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const started = startNode([main, 'sql', 'select pg_sleep(600) as begun'], { env: env() })
      onTestFinished(async () => void (await started.kill('SIGKILL')))
      await eventually(async () => (await running()).length === 1)
      expect(await started.kill(signal)).toMatchObject({ code: 130, stdout: '', stderr: STOPPED })
      expect(await running()).toEqual([])
    }
  })

  it('stops at once on a signal even if its reader has stalled', async () => {
    const query = "select generate_series(1, 100000000), repeat('x', 1000) as begun"
    const child = spawn(process.execPath, [main, 'sql', query], {
      env: { PATH: process.env.PATH, ...env() },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    onTestFinished(() => void child.stdout.destroy())
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = new Promise((resolve) => child.once('exit', resolve))
    await eventually(async () => (await running()).length === 1)
    child.kill('SIGINT')
    expect(await ended).toBe(130)
    expect(await running()).toEqual([])
  })

  it('changes nothing without --write, whatever the URL, session and statements', async () => {
    await queryOnce(database.url, 'create table if not exists public.kept (a int)')
    const url = new URL(database.url)
    url.searchParams.set('options', '-c default_transaction_read_only=off -c statement_timeout=77s')
    const more = { DATABASE_URL: url.href }
    const insert = 'insert into public.kept values (1)'
    for (const attempt of [
      insert,
      `set default_transaction_read_only = off; ${insert}`,
      `commit; begin read write; ${insert}`,
      `commit and chain; set transaction read write; ${insert}`,
      `rollback; set session characteristics as transaction read write; ${insert}`,
      `set transaction read write; ${insert}`,
      `do $$ begin execute 'set transaction read write'; ${insert}; end $$`,
      `select set_config('transaction_read_only', 'off', false); ${insert}`,
      `/* ; */ select 1; ${insert}`,
    ]) {
      const tried = await sql([attempt], more)
      expect([attempt, tried.code, tried.stderr]).toEqual([
        attempt,
        2,
        expect.stringContaining('add --write'),
      ])
    }
    expect(await queryOnce(database.url, 'select * from kept')).toEqual([])
    const settings = await sql(['--csv', 'show statement_timeout; show search_path; show timezone'], more)
    expect(settings.stdout).toBe('statement_timeout\n77s\nsearch_path\ntraining\nTimeZone\nUTC\n')
    expect((await sql(['--write', `${insert}, (2)`], more)).stdout).toBe('INSERT 0 2\n')
    expect(await queryOnce(database.url, 'select count(*)::int as n from kept')).toEqual([{ n: 2 }])
  })

  it('shows the line of an error, a caret and the hint of Postgres, as psql does', async () => {
    const { code, stderr } = await sql(["select 1;\nselect 2,\n\t  nam, 'ü' from activities"])
    expect(code).toBe(2)
    expect(stderr).toBe(
      [
        'musette: SQL: column "nam" does not exist',
        "LINE 2:    nam, 'ü' from activities",
        '           ^',
        'HINT:  Perhaps you meant to reference the column "activities.name".',
        '',
      ].join('\n'),
    )
    const raise =
      "do $$ begin raise notice 'so %', 'far'; raise warning 'oh' using hint = 'look'; end $$; select 1"
    const noted = await sql(['--write', raise])
    expect(noted).toMatchObject({ stderr: 'NOTICE:  so far\nWARNING:  oh\nHINT:  look\n', code: 0 })
    expect(noted.stdout).toContain('(1 row)')
  })

  it('prints one hint and the rows if a statement sums columns of type real', async () => {
    const { stdout, stderr, code } = await sql(['--csv', 'select sum(power), sum(hr) from samples'])
    expect([stdout, code]).toEqual(['sum,sum\n,\n', 0])
    expect(stderr).toMatch(
      /^HINT: {2}Postgres sums columns of type real in single precision, .*samples_float8.*\n$/,
    )
    expect((await sql(['select sum(power::float8) from samples'])).stderr).toBe('')
  })

  it('answers \\d and \\d NAME, and suggests a command for other psql commands', async () => {
    const all = await sql(['--csv', '\\d'])
    expect(all.stdout).toMatch(/^training,accounts,table,/m)
    expect(all.stdout).toMatch(/^training,daily_load,view,/m)
    for (const command of ['\\d Activities', ' \\d+ training.activities;\n']) {
      const described = await sql(['--csv', command])
      expect(described.stderr).toBe('')
      expect(described.stdout).toMatch(/^column,type,nullable,default,comment\nactivity_id,integer,not null,/)
    }
    const missing = await sql(['\\d nothing'])
    expect(missing).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no table or view nothing'),
    })
    const other = await sql(['--write', '\\copy x to y'])
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('psql "$(musette db-url)"') })
    expect(await sql(["select '\n\\d' as text"])).toMatchObject({ code: 0 })
  })
})
