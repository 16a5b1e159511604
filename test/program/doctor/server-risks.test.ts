import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/core/store/store.ts'
import { collectFindings } from '../../../src/program/frame/findings/collect-findings.ts'
import { makeFacts } from '../../../src/program/frame/findings/facts.ts'
import { runsWith } from '../../kit/binaries.ts'
import { readConfig } from '../../kit/config.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { type Cluster, HAS_CLUSTERS, openCluster } from '../../kit/postgres-cluster.ts'
import { runVerb } from '../../kit/verbs.ts'

/** A whole file of states of transactions, so that the next one begins a new file. */
const A_FILE = 1_048_576
const OLD = 1_240 * A_FILE

describe.runIf(runsWith(HAS_CLUSTERS))('what a server needs from its administrator', () => {
  let cluster: Cluster
  beforeAll(async () => {
    // Without the last setting autovacuum would mend the age at once.
    cluster = await openCluster({
      settings: 'max_wal_size = 2MB\nmin_wal_size = 2MB\nautovacuum_freeze_max_age = 2000000000\n',
    })
    await cluster.query(
      `create database "of icu" template template0 locale_provider icu icu_locale 'en' locale 'C'`,
    )
  })
  afterAll(() => cluster?.close())

  const find = async (url: string) => {
    const store = openStore({ log: makeSilentLog() }, { connectionString: url })
    const app = { config: readConfig({ DATABASE_URL: url }), store, features: [] }
    return collectFindings(makeFacts(app, new Date()), { check: 'database' }).finally(() => store.close())
  }
  /** Types the command of the only finding, in a shell that has the URL, and expects that it is over. */
  const mend = async (url: string) => {
    const [finding, ...others] = await find(url)
    expect(others).toEqual([])
    for (const command of (finding?.run ?? '').split(' && ')) {
      const [, text = ''] = /^musette sql --write (.*)$/.exec(command) ?? []
      const statement = text.replace(/^'(.*)'$/s, (_, inner) => inner.replaceAll(`'\\''`, "'"))
      const typed = await runVerb(['sql', '--write', statement], { env: { DATABASE_URL: url } })
      expect([command, typed.code, typed.stderr]).toEqual([command, 0, expect.anything()])
    }
    expect(await find(url)).toEqual([])
    return finding
  }

  it('is a slot that keeps the log, which the command drops', async () => {
    await cluster.query(`select pg_create_physical_replication_slot('left_behind', true)`)
    for (let each = 0; each < 8; each++)
      await cluster.query(`select pg_logical_emit_message(false, 'x', repeat('x', 1000000))`)
    await cluster.query('checkpoint')
    expect(await mend(cluster.url)).toMatchObject({
      rule: { code: 'slot_keeps_wal' },
      found: expect.stringMatching(/^the replication slot left_behind keeps \d.* [MG]B of WAL/),
    })
  })

  it('is an order of texts that has changed, and the command makes the indexes anew', async () => {
    const url = new URL('/of icu', cluster.url).href
    await queryOnce(url, `update pg_database set datcollversion = '0' where datname = 'of icu'`)
    await queryOnce(url, 'create role stranger login')
    const [finding] = await find(Object.assign(new URL(url), { username: 'stranger' }).href)
    expect(finding?.run).toBeUndefined()
    expect(finding?.found).toMatch(
      /let an administrator of of icu type: reindex database "of icu"; alter database "of icu" refresh/,
    )
    expect(await mend(url)).toMatchObject({ rule: { code: 'order_of_texts_changed' } })
  })

  it('is a database near the wraparound of its transactions, and the command freezes it', async () => {
    await cluster.stop()
    await cluster.run('pg_resetwal', `--next-transaction-id=${OLD}`, cluster.dir)
    await cluster.start()
    await cluster.query('update pg_database set datallowconn = true')
    for (const name of ['template0', 'template1', 'of icu'])
      await queryOnce(new URL(`/${name}`, cluster.url).href, 'vacuum (freeze)')
    expect(await mend(cluster.url)).toMatchObject({
      rule: { code: 'wraparound_near' },
      found: expect.stringContaining('the oldest unfrozen transaction of the database postgres is 1,3'),
    })
  })
})
