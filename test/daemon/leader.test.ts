import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openElected, type Post } from '../../src/daemon/leader.ts'
import { makeGate } from '../flows/scale/gate.ts'
import { eventually } from '../kit/eventually.ts'
import { makeTestLog, type TestLog } from '../kit/log.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../kit/postgres.ts'
import { type Line, openLine } from '../kit/postgres-line.ts'

const TIMES = { askEveryMs: 50, silentMs: 1_000 }

let database: TestDatabase
let log: TestLog
let opened: Array<{ close(): Promise<void> }>
/** how often each part was opened and closed */
let parts: Record<string, { opened: number; closed: number; atStart: boolean[] }>

beforeEach(async () => {
  database = await openTestDatabase({ migrated: false })
  log = makeTestLog()
  opened = []
  parts = {}
})
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
  await database.close()
})

async function stand(
  name: string,
  more: { url?: string; id?: () => Promise<string>; open?: Post['open'] } = {},
) {
  const own = { opened: 0, closed: 0, atStart: [] as boolean[] }
  parts[name] = own
  const open: Post['open'] = async (input) => {
    await more.open?.(input)
    own.opened += 1
    own.atStart.push(input.atStart)
    return {
      close: async () => {
        own.closed += 1
      },
    }
  }
  const app = { log: log.log, databaseUrl: more.url ?? database.url }
  const elected = await openElected(app, { name: 'scheduler', open, ...(more.id && { id: more.id }) }, TIMES)
  opened.push(elected)
  return elected
}

const leaders = () =>
  Object.keys(parts).filter((name) => (parts[name]?.opened ?? 0) > (parts[name]?.closed ?? 0))
const sessions = () =>
  queryOnce(
    database.url,
    `select pid, state, backend_xmin, backend_xid, application_name,
       extract(epoch from clock_timestamp() - xact_start) * 1000 as held_ms
     from pg_stat_activity
     where datname = current_database() and application_name like 'musette scheduler %'`,
  )

describe('a post', () => {
  it('is held by one process, and by another as soon as that one ends', async () => {
    const first = await stand('first')
    await stand('second')
    await stand('third')
    expect(leaders()).toEqual(['first'])
    await first.close()
    const [next = ''] = await eventually(() => leaders().length > 0 && leaders())
    expect(['second', 'third']).toContain(next)
    // Only who finds the post free as it starts takes it for the start of everything.
    expect([parts.first?.atStart, parts[next]?.atStart]).toEqual([[true], [false]])
    expect(leaders()).toHaveLength(1)
  })

  it('is one for each thing there is one of, and follows that when it changes', async () => {
    let folder = 'a'
    await stand('one', { id: async () => folder })
    await stand('other', { id: async () => 'b' })
    expect(leaders()).toEqual(['one', 'other'])
    folder = 'b'
    await eventually(() => leaders().length === 1)
    expect(leaders()).toEqual(['other'])
    folder = 'c'
    await eventually(() => leaders().length === 2)
  })

  it('keeps nothing from being vacuumed, and says in Postgres who holds it', async () => {
    await stand('first')
    await stand('second')
    const holds = await eventually(async () => {
      const seen = await sessions()
      const held = seen.filter(({ state }) => state === 'idle in transaction')
      return seen.length === 2 && held.length === 1 && held
    })
    expect(holds[0]).toMatchObject({ backend_xmin: null, backend_xid: null })
    expect(holds[0]?.application_name).toMatch(new RegExp(` ${process.pid}$`))
  })

  it('has its part open all the while when the connection breaks and nobody else wants it', async () => {
    await stand('only')
    const [before] = await sessions()
    await queryOnce(database.url, 'select pg_terminate_backend($1)', [before?.pid])
    await eventually(async () =>
      (await sessions()).some(({ pid, state }) => pid !== before?.pid && state === 'idle in transaction'),
    )
    expect(parts.only).toEqual({ opened: 1, closed: 0, atStart: [true] })
  })

  it('stays with who opens its part for longer than it may be silent', async () => {
    const gate = makeGate()
    const first = await stand('first')
    const slow = stand('slow', { open: () => gate.passed.then(() => ({ close: async () => undefined })) })
    await slow
    await first.close()
    await eventually(async () => (await sessions()).some(({ state }) => state === 'idle in transaction'))
    await stand('third')
    // The server would have ended a silent session twice over.
    const old = await eventually(async () =>
      (await sessions()).find(({ held_ms }) => Number(held_ms) > 2 * TIMES.silentMs),
    )
    expect(old.state).toBe('idle in transaction')
    expect(leaders()).toEqual([])
    gate.open()
    await eventually(() => leaders().length === 1)
    expect(leaders()).toEqual(['slow'])
  })

  it('is held from the start, however long its part takes to open', async () => {
    const gate = makeGate()
    const slow = stand('slow', { open: () => gate.passed.then(() => ({ close: async () => undefined })) })
    await eventually(async () => (await sessions()).some(({ state }) => state === 'idle in transaction'))
    await stand('other')
    await eventually(async () =>
      (await sessions()).find(({ held_ms }) => Number(held_ms) > 2 * TIMES.silentMs),
    )
    expect(leaders()).toEqual([])
    gate.open()
    await slow
    expect(leaders()).toEqual(['slow'])
  })

  it('is given back when its part cannot be opened at the start', async () => {
    const open = async () => {
      throw new Error('the queue is away')
    }
    await expect(stand('first', { open })).rejects.toThrow('the queue is away')
    await stand('second')
    expect(leaders()).toEqual(['second'])
  })

  it('is tried for again when its part cannot be opened', async () => {
    const first = await stand('first')
    let tries = 0
    await stand('second', {
      open: async () => {
        tries += 1
        if (tries < 3) throw new Error('the queue is away')
        return { close: async () => undefined }
      },
    })
    await first.close()
    await eventually(() => leaders().length === 1)
    expect(leaders()).toEqual(['second'])
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1)
  })
})

describe('a leader whose line falls silent', () => {
  let line: Line
  beforeEach(async () => {
    line = await openLine(database.url)
  })
  afterEach(() => line.close())

  it('is followed by another, and steps back when it hears of that', async () => {
    await stand('first', { url: line.url })
    await stand('second')
    line.become('silent')
    await eventually(() => leaders().includes('second'), { timeoutMs: 20_000 })
    line.become('good')
    await eventually(() => leaders().length === 1, { timeoutMs: 20_000 })
    expect(leaders()).toEqual(['second'])
    expect(parts.first).toMatchObject({ opened: 1, closed: 1 })
  })

  it('ends in time all the same', async () => {
    const first = await stand('first', { url: line.url })
    line.become('silent')
    await first.close()
    expect(leaders()).toEqual([])
  }, 20_000)
})
