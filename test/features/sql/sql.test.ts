import { execFile, spawn } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readInput } from '../../../src/program/frame/prompt.ts'
import { eventually } from '../../kit/eventually.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { distPath, type Running, startNode } from '../../kit/processes.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

const main = distPath('main.js')
const STOPPED = 'musette: stopped; the statement was cancelled\n'
/** More rows than a call can have arguments, and more than the small heap below could hold. */
const MANY = 'select i, repeat(md5(i::text), 6) as sums from generate_series(1, 130000) as i'
/** A small heap is swept often, and a dozen processes start slowly on a busy machine. */
const MANY_MS = 180_000
const SMALL_HEAP = '--max-old-space-size=48'

let database: TestDatabase
let folder: TempDir
beforeAll(async () => {
  database = await openTestDatabase()
  folder = await openTempDir('sql')
})
afterAll(async () => {
  await database?.close()
  await folder?.close()
})

const env = () => ({ DATABASE_URL: database.url, MUSETTE_DATA_DIR: folder.path, MUSETTE_HTTP: 'off' })
const sql = (args: readonly string[], more: Record<string, string> = {}) =>
  runVerb(['sql', ...args], { env: { ...env(), ...more } })
const print = async (...args: string[]) => (await sql(args)).stdout

/** Runs a command of a shell in which "$@" is `musette sql` with a small heap and these arguments. */
async function inShell(
  command: string,
  args: readonly string[],
): Promise<{ stdout: string; stderr: string }> {
  const words = ['-c', command, 'sh', process.execPath, SMALL_HEAP, main, 'sql', ...args]
  return promisify(execFile)('sh', words, { env: { PATH: process.env.PATH, ...env() } })
}

const running = () =>
  queryOnce(
    database.url,
    `select query from pg_stat_activity where application_name = 'musette sql' and state = 'active'
      and datname = current_database() and query like '%begun%'`,
  )

/** Waits until the server runs what a test has started, sends the signal, and returns how the process ended. */
async function stop(started: Running, signal: NodeJS.Signals) {
  try {
    await eventually(async () => (await running()).length === 1)
    return await started.kill(signal)
  } finally {
    await started.kill('SIGKILL')
  }
}

describe('musette sql', () => {
  it('shows every column, also those of one name', async () => {
    const query = "select 187 as max, 160 as max, 0 as min, 'x' as max_2"
    expect(await print(query)).toBe('max  max  min  max_2\n───  ───  ───  ─────\n187  160    0  x\n(1 row)\n')
    expect(await print('--csv', query)).toBe('max,max,min,max_2\n187,160,0,x\n')
    expect(await print('--json', query)).toBe('[{"max":187,"max_3":160,"min":0,"max_2":"x"}]\n')
  })

  it('writes JSON without loss: values that JavaScript would round are strings', async () => {
    const query = `select 12345678901234567890 as n, 9007199254740993 as b, 'NaN'::float8 as f, 0.1::float4 as r, true as t,
      null as z, '{"a":  1.00}'::json as j, array[1,2] as list, chr(155) as c`
    expect(await print('--json', query)).toBe(
      '[{"n":"12345678901234567890","b":"9007199254740993","f":"NaN","r":0.1,"t":true,"z":null,"j":{"a":  1.00},' +
        '"list":"{1,2}","c":"\\u009b"}]\n',
    )
    expect(await print('--json', 'select 1 as a where false; set work_mem = 64; select 2 as b')).toBe(
      '[]\n[]\n[{"b":2}]\n',
    )
  })

  it.each([
    ['a table', [], 'tail -n 1', '(130000 rows)\n'],
    ['JSON', ['--json'], 'tail -c 3', '}]\n'],
    ['CSV', ['--csv'], 'wc -l', '130001\n'],
  ])(
    'prints any number of rows in little memory: %s',
    async (_, options, filter, end) => {
      expect(await inShell(`"$@" | ${filter}`, [...options, MANY])).toEqual({ stdout: end, stderr: '' })
    },
    MANY_MS,
  )

  it('ends quietly when its reader stops', async () => {
    const { stdout, stderr } = await inShell('("$@"; echo "code $?" >&2) | head -n 1', ['--csv', MANY])
    expect({ stdout, stderr }).toEqual({ stdout: 'i,sums\n', stderr: 'code 0\n' })
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('cancels the statement at the server on %s', async (signal) => {
    const started = startNode([main, 'sql', 'select pg_sleep(600) as begun'], { env: env() })
    expect(await stop(started, signal)).toMatchObject({ code: 130, stdout: '', stderr: STOPPED })
    expect(await running()).toEqual([])
  })

  it('stops at once when its reader goes away', async () => {
    const query = "select generate_series(1, 100000000), repeat('x', 1000) as begun"
    const child = spawn(process.execPath, [main, 'sql', query], {
      env: { PATH: process.env.PATH, ...env() },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    try {
      await eventually(async () => (await running()).length === 1)
      child.kill('SIGINT')
      expect(await ended).toBe(130)
      expect(await running()).toEqual([])
    } finally {
      child.kill('SIGKILL')
      child.stdout.destroy()
    }
  })

  it('stops while it waits for a query', async () => {
    const stop = new AbortController()
    const reading = readInput(new PassThrough(), stop.signal)
    stop.abort()
    await expect(reading).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
  })

  it(
    'writes nothing without --write, whatever URL, session or statements',
    async () => {
      await queryOnce(database.url, 'create table if not exists public.kept (a int)')
      const options = '-c default_transaction_read_only=off -c statement_timeout=77s'
      const url = new URL(database.url)
      url.searchParams.set('options', options)
      const more = { DATABASE_URL: url.href }
      for (const attempt of [
        'insert into public.kept values (1)',
        'set default_transaction_read_only = off; insert into public.kept values (1)',
        'commit; begin read write; insert into public.kept values (1)',
        'commit and chain; set transaction read write; insert into public.kept values (1)',
        'rollback; set session characteristics as transaction read write; insert into public.kept values (1)',
        'set transaction read write; insert into public.kept values (1)',
        "do $$ begin execute 'set transaction read write'; insert into public.kept values (1); end $$",
        "select set_config('transaction_read_only', 'off', false); insert into public.kept values (1)",
        '/* ; */ select 1; insert into public.kept values (1)',
      ]) {
        const tried = await sql([attempt], more)
        expect(tried.code, attempt).toBe(2)
        expect(tried.stderr).toContain('add --write if that is meant')
      }
      expect(await queryOnce(database.url, 'select * from kept')).toEqual([])
      expect(
        (await sql(['--csv', 'show statement_timeout; show search_path; show timezone'], more)).stdout,
      ).toBe('statement_timeout\n77s\nsearch_path\ntraining\nTimeZone\nUTC\n')
      expect((await sql(['--write', 'insert into public.kept values (1), (2)'], more)).stdout).toBe(
        'INSERT 0 2\n',
      )
      expect(await queryOnce(database.url, 'select count(*)::int as n from kept')).toEqual([{ n: 2 }])
    },
    MANY_MS,
  )

  it('shows the line of a mistake, a caret under it and the hint of Postgres, as psql does', async () => {
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
    const long = await sql([
      `select ${'1, '.repeat(50)}'世界', nam from activities where ${'true and '.repeat(20)} true`,
    ])
    const [, line = '', caret = ''] = long.stderr.split('\n')
    expect(line).toMatch(/^LINE 1: \.\.\..*'世界', nam from .*\.\.\.$/)
    expect(caret.length).toBe(line.indexOf('nam') + 2 + 1)
    const duplicate = await sql([
      '--write',
      "insert into training.accounts (name, base_url) select 'same', 'x' from generate_series(1, 2)",
    ])
    expect(duplicate.stderr).toMatch(/unique constraint.*\nDETAIL: {2}Key .* already exists/)
  })

  it('shows notices and warnings, with their hints, beside the answer', async () => {
    const { stdout, stderr } = await sql([
      "do $$ begin raise notice 'so %', 'far'; raise warning 'oh' using hint = 'look'; end $$; select 1 as one",
    ])
    expect(stderr).toBe('NOTICE:  so far\nWARNING:  oh\nHINT:  look\n')
    expect(stdout).toContain('(1 row)')
  })

  it('answers the commands of psql for tables and columns, and suggests a command for others', async () => {
    const all = await sql(['--csv', '\\d'])
    expect(all.stdout).toMatch(/^training,accounts,table,/m)
    expect(all.stdout).toMatch(/^training,daily_load,view,/m)
    for (const command of ['\\d Activities', ' \\d+ training.activities;\n']) {
      const described = await sql(['--csv', command])
      expect(described.stderr).toBe('')
      expect(described.stdout).toMatch(/^column,type,nullable,default,comment\nactivity_id,integer,not null,/)
    }
    const missing = await sql(['\\d nothing'])
    expect([missing.code, missing.stderr]).toEqual([
      2,
      expect.stringContaining(`no table or view nothing here`),
    ])
    const other = await sql(['--write', '\\copy x to y'])
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('psql "$(musette db-url)"')])
    const inText = await sql(["select '\n\\d' as text"])
    expect(inText.code).toBe(0)
  })

  it('prints the output of COPY, but not as JSON', async () => {
    const copy = 'copy (values (1, null), (2, null)) to stdout'
    expect(await print(copy)).toBe('1\t\\N\n2\t\\N\n')
    expect(await sql(['--json', copy])).toMatchObject({ code: 2, stdout: '' })
  })

  it('accepts one format', async () => {
    expect(await sql(['--json', '--csv', 'select 1'])).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('a name that holds signs for the terminal', () => {
  const name = 'a\u001b[31m\u0007\r\u009bz'
  const escaped = 'a\\x1B[31m\\x07\\r\\u009Bz'

  it('is written as psql writes it, by every verb that prints a table', async () => {
    await queryOnce(
      database.url,
      `insert into training.accounts (name, base_url) values ($1, 'http://127.0.0.1:9')`,
      [name],
    )
    for (const args of [
      ['accounts'],
      ['status'],
      ['sql', 'select name from training.accounts'],
      ['sql', '-x', 'select name from training.accounts'],
    ]) {
      const { stdout } = await runVerb(args, { env: env() })
      expect(stdout, args.join(' ')).toContain(escaped)
      expect(stdout.includes('\u001b') || stdout.includes('\u009b') || stdout.includes('\r')).toBe(false)
    }
    expect(await print('select 1 as "\u001b[31m"')).toContain('\\x1B[31m\n')
  })
})
