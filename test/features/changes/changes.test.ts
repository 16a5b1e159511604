import { beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath, startNode } from '../../kit/processes.ts'
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
  /** The changes so far; transactions of other tests on this server delay them. */
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

  it('prints the changes in order, one line of JSON each or text for a person, and continues after a given number', async () => {
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
    // A stored answer fills a screen; --json has it.
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
    expect(ahead.stderr).toContain('999999 is of another database, or of this one before a restore')
  })

  it('--follow prints the next change at once, survives lost connections, and ends with its reader', async () => {
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

  it('continues after the numbers of a new line', async () => {
    await queryOnce(rig.databaseUrl, `select musette.begin_line('server')`)
    await rename('Renamed later')
    const [restored, ...later] = (await readAll(['--since', '1'])).slice(-2)
    expect(restored?.kind).toBe('restored')
    expect(await readAll(['--since', String(restored?.change_id)])).toEqual(later)
  })
})
