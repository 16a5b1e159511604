import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { openStore } from '../../../src/core/store/store.ts'
import { readChanges } from '../../../src/features/changes/change-feed.ts'
import { makeActivity, openTestStore, quiet } from '../../core/store/open.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeTestLog } from '../../kit/log.ts'
import { openForAll } from '../../kit/open-for.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath, startNode } from '../../kit/processes.ts'
import { sample } from '../../kit/sampling.ts'
import { openCliRig } from '../../program/cli/rig.ts'

type Line = { change_id: number; account: string; at: string; kind: string; path: string; detail: object }

const parse = (stdout: string): Line[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

const THEIRS = `from pg_stat_activity
  where application_name in ('musette', 'musette changes') and datname = current_database() and backend_type = 'client backend'`
const LISTENING = `select ${THEIRS} and application_name = 'musette changes'`
const END_THEM = `select pg_terminate_backend(pid) ${THEIRS}`

describe('musette changes', () => {
  const rig = openForAll(() => openCliRig({ activities: 3, isSignedIn: true }))
  beforeAll(async () => {
    expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
  })

  const rename = (name: string) =>
    queryOnce(rig.databaseUrl, 'update training.activities set name = $1 where activity_id = 1', [name])
  /** Reads the changes so far; transactions of other tests on this server delay them. */
  const readAll = async (args: readonly string[] = []) => {
    const [row] = await queryOnce(
      rig.databaseUrl,
      'select max(change_id)::float8 as last from training.changes',
    )
    return eventually(
      async () => {
        const end = await rig.musette(['changes', '--json', ...args])
        expect(end).toMatchObject({ code: 0, stderr: '' })
        const lines = parse(end.stdout)
        return (lines.at(-1)?.change_id ?? 0) >= Number(row?.last) && lines
      },
      { everyMs: 500 },
    )
  }

  it('prints the changes in order, as JSON lines or text, and continues after a number', async () => {
    const known = await readAll()
    const ids = known.map(({ change_id }) => change_id)
    expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    const count = (kind: string) => known.filter((line) => line.kind === kind).length
    expect(['activity.new', 'activity.samples', 'login.restored'].map(count)).toEqual([3, 3, 1])
    expect(known[0]?.at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$/)
    const { stdout } = await rig.musette(['changes'])
    expect(stdout).toMatch(
      /^1 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}default {2}login\.restored {2}account "default"$/m,
    )
    // A stored response fills a screen; only --json prints it.
    expect(stdout).not.toContain(' raw {')
    await rename('Renamed here')
    const later = await readAll(['--since', String(ids.at(-1))])
    expect(later.map(({ kind }) => kind)).toEqual(['activity.changed'])
    expect(later[0]?.detail).toMatchObject({ name: [expect.any(String), 'Renamed here'] })
    expect(known.slice(2)).toEqual((await readAll(['--since', String(ids[1])])).slice(0, -1))
  })

  it('refuses an unknown number', async () => {
    const ahead = await rig.musette(['changes', '--since', '999999'])
    expect(ahead).toMatchObject({ code: 2, stdout: '' })
    expect(ahead.stderr).toContain('999999 is from another database, or from this one before a restore')
  })

  it('--follow prints new changes at once, survives lost connections, and ends with its reader', async () => {
    const [row] = await queryOnce(rig.databaseUrl, 'select max(change_id)::int as last from training.changes')
    const args = ['changes', '--follow', '--json', '--since', String(row?.last)]
    const prefix = ['bash', '-c', '"$0" "$@" | head -n 1; echo "ended $PIPESTATUS"']
    const pipe = startNode([distPath('main.js'), ...args], { prefix, env: rig.env, cwd: rig.dataDir })
    const isListening = async () => (await queryOnce(rig.databaseUrl, LISTENING)).length > 0
    await eventually(isListening)
    await queryOnce(rig.databaseUrl, END_THEM)
    await rename('First')
    await eventually(() => pipe.stdout().includes('First'))
    // The next line finds the pipe closed.
    await rename('Second')
    expect((await pipe.finished).stdout).toContain('ended 0')
  })

  it('--follow ends on Ctrl-C during an outage', async () => {
    const name = new URL(rig.databaseUrl).pathname.slice(1)
    const allow = (isOpen: boolean) =>
      queryOnce(inject('postgresUrl'), `alter database ${name} allow_connections ${isOpen}`)
    const args = ['changes', '--follow', '--json', '--since', '1']
    const follower = startNode([distPath('main.js'), ...args], { env: rig.env, cwd: rig.dataDir })
    await eventually(() => follower.stdout().includes('activity.new'))
    await eventually(async () => (await queryOnce(rig.databaseUrl, LISTENING)).length > 0)
    await queryOnce(rig.databaseUrl, END_THEM)
    await allow(false)
    await eventually(() => follower.stderr().includes('continues when it works again'))
    expect(await follower.kill('SIGINT')).toMatchObject({ code: 0 })
    await allow(true)
  })

  it('continues after the numbers of a new line', async () => {
    await queryOnce(rig.databaseUrl, `select musette.begin_line('server')`)
    await rename('Renamed later')
    const [restored, ...later] = (await readAll(['--since', '1'])).slice(-2)
    expect(restored?.kind).toBe('restored')
    expect(await readAll(['--since', String(restored?.change_id)])).toEqual(later)
  })
})

describe('a reader of the change feed', () => {
  const away = (name: string) => `alter database ${name}_away rename to ${name}`
  const OUTAGES: Array<[string, (name: string) => string, (name: string) => string]> = [
    [
      'takes no connections',
      (name) => `alter database ${name} allow_connections false`,
      (name) => `alter database ${name} allow_connections true`,
    ],
    ['is not found', (name) => `alter database ${name} rename to ${name}_away`, away],
    [
      'has no tables',
      () => 'alter schema training rename to away',
      () => 'alter schema away rename to training',
    ],
  ]
  it.each(sample(OUTAGES, 1))(
    'continues without loss or repetition after the database %s for a while',
    async (_what, begin, end) => {
      const { store: ours, url } = await openTestStore()
      await makeActivity(ours, new Date())
      const { log, lines } = makeTestLog('info')
      const store = openStore({ log: quiet }, { connectionString: url })
      const stop = new AbortController()
      const names: unknown[] = []
      const read = async () => {
        const input = { since: 0, follow: true, signal: stop.signal }
        for await (const page of readChanges({ store, databaseUrl: url, log }, input))
          names.push(...page.map(({ changeId, detail }) => [changeId, JSON.stringify(detail)]))
      }
      const reading = read()
      onTestFinished(async () => {
        stop.abort()
        await reading.catch(() => undefined)
        await store.close()
      })
      const has = (text: string) => names.filter((line) => JSON.stringify(line).includes(text)).length
      await eventually(() => names.length > 0)
      await eventually(async () => (await queryOnce(url, LISTENING)).length > 0)
      const name = new URL(url).pathname.slice(1)
      const server = begin(name).includes('schema') ? url : inject('postgresUrl')
      const endAll = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`
      await eventually(async () => {
        await queryOnce(inject('postgresUrl'), endAll)
        return queryOnce(server, begin(name)).then(
          () => true,
          () => false,
        )
      })
      await Promise.race([reading, eventually(() => lines.some(({ level }) => level === 'warn'))])
      await queryOnce(server, end(name))
      await queryOnce(url, `update training.activities set name = 'Renamed meanwhile'`)
      await Promise.race([reading, eventually(() => has('Renamed meanwhile') > 0)])
      expect([has('Renamed meanwhile'), new Set(names.map(String)).size]).toEqual([1, names.length])
      const said = lines.filter(({ level }) => level !== 'debug').map(({ level, msg }) => `${level} ${msg}`)
      expect(said).toEqual([
        'warn the database cannot be read; musette continues when it works again',
        'info the database works again',
      ])
    },
  )
})
