import { describe, expect, it } from 'vitest'
import { composeConditions, composeMessages } from '../../../src/features/webhooks/compose.ts'
import { DAY, HOUR } from '../../../src/kit/time.ts'
import { makeAccount, rowsOf } from '../../core/store/open.ts'
import { eventually } from '../../kit/eventually.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { makeWebhook } from './receiver.ts'
import { fetchAll, list, loseLogin, makeSignedIn, mirror, openScene, type Told } from './scene.ts'

const HOME = makeWebhook('http://127.0.0.1:9')
const PHONE = makeWebhook('http://127.0.0.1:9', { name: 'phone', events: ['login.lost'] })
const MANY = 300

const eventsOf = (told: readonly Told[]) => told.map(({ event }) => event)
const numbered = (count: number, letter = 'p') =>
  Array.from({ length: count }, (_, index) => `${letter}${index}`)

describe('a new activity', () => {
  it('is one message, once its samples and scores are here, followed by its breakthrough', async () => {
    const { store, told } = await openScene()
    const accountId = await makeAccount(store)
    await list(store, { accountId, paths: ['p1'] })
    expect(await told()).toEqual([])
    const scores = { prevSigFtp: 250, sigFtp: 255, prevSigPp: 900, sigPp: 900.2, breakthrough: 1 }
    await fetchAll(store, accountId, scores)
    const [activity, breakthrough, ...others] = await told()
    expect(others).toEqual([])
    expect(activity).toMatchObject({
      webhook: 'home',
      account_id: accountId,
      event: 'activity.new',
      data: {
        account: 'default',
        path: 'p1',
        title: 'Ride p1',
        text: '1 h 30 min, XSS 80, FTP 250 → 255 W',
        xss: 80,
        sig_ftp: 255,
        elapsed_s: 5_400,
      },
    })
    expect(breakthrough).toMatchObject({
      event: 'breakthrough',
      data: { title: 'A breakthrough', text: 'Ride p1: FTP 250 → 255 W' },
    })
    expect(await told()).toHaveLength(2)
  })

  it('has no second message when it is edited, recalculated or fetched again', async () => {
    const { store, told } = await openScene()
    const accountId = await makeAccount(store)
    await mirror(store, { accountId, paths: ['p1'] })
    await told()
    await mirror(store, { accountId, paths: ['p1'], name: 'Renamed' }, { xss: 81, breakthrough: 1 })
    expect(eventsOf(await told())).toEqual(['activity.new'])
  })

  it('is awaited once, also when the daemon starts before its change is read', async () => {
    const { store, know } = await openScene()
    const accountId = await makeAccount(store)
    await list(store, { accountId, paths: ['p1'] })
    await know([HOME])
    expect(await rowsOf(store, 'select from musette.webhook_waiting')).toEqual([])
  })

  it('without samples when the first webhook was added has a message; one with samples is history', async () => {
    const { store, know, told } = await openScene([])
    const accountId = await makeAccount(store)
    await mirror(store, { accountId, paths: ['before'] })
    await list(store, { accountId, paths: ['after'] })
    await know([HOME])
    await fetchAll(store, accountId)
    expect(await told([HOME])).toMatchObject([{ event: 'activity.new', data: { path: 'after' } }])
  })
})

it('an activity that was mirrored before the first webhook was added is history, also while another transaction is open', async () => {
  const { store, know, told } = await openScene([])
  const accountId = await makeAccount(store)
  await store.transaction(async (tx) => {
    // A transaction with a number, of any database of the server, holds back what is settled.
    await tx.client.query('select pg_current_xact_id()')
    await mirror(store, { accountId, paths: ['before'] })
    await know([HOME])
  })
  expect(await told([HOME])).toEqual([])
})

describe('many activities at once', () => {
  it('have a message each when up to five recent ones are seen together; others are one message', async () => {
    const { store, told, url } = await openScene()
    const accountId = await makeSignedIn(store)
    await list(store, { accountId, paths: numbered(4) })
    await mirror(store, { accountId, paths: ['recent'], daysAgo: 13.9 })
    expect(eventsOf(await told())).toEqual(Array.from({ length: 5 }, () => 'activity.new'))
    await queryOnce(url, `update training.activities set first_seen_at = first_seen_at - interval '1 hour'`)
    await mirror(store, { accountId, paths: ['old'], daysAgo: 14 })
    expect(eventsOf((await told()).slice(5))).toEqual(['history.mirrored'])
    await mirror(store, { accountId, paths: numbered(5, 'more') })
    expect((await told()).slice(6)).toMatchObject([{ event: 'history.mirrored', data: { activities: 5 } }])
  })

  it('are counted as they arrive: new ones, and those with new scores', async () => {
    const { store } = await openScene()
    const accountId = await makeSignedIn(store)
    const gathered = async () => {
      while (await composeMessages({ store }, { webhooks: [HOME], restMs: HOUR }));
      return await rowsOf(store, 'select event, count from musette.webhook_digests order by event')
    }
    const settled = `select from training.changes where change_id > (select min(change_id) from musette.webhooks)`
    const counts = () =>
      eventually(async () => {
        const rows = await gathered()
        return (await rowsOf(store, settled)).length === 0 && rows
      })
    await mirror(store, { accountId, paths: numbered(3), daysAgo: 100 })
    expect(await counts()).toEqual([{ event: 'history.mirrored', count: 3 }])
    await mirror(store, { accountId, paths: numbered(2), daysAgo: 100 }, { xss: 79 })
    expect(await counts()).toEqual([
      { event: 'history.mirrored', count: 3 },
      { event: 'history.recalculated', count: 2 },
    ])
  })

  it('of a backfill are one message once all are here', async () => {
    const { store, told, url } = await openScene()
    const accountId = await makeSignedIn(store)
    await list(store, { accountId, paths: numbered(MANY), daysAgo: 100 })
    await list(store, { accountId, paths: numbered(10, 'recent') })
    await queryOnce(url, `update training.activities set detail_state = 'failed' where path <> 'p0'`)
    await fetchAll(store, accountId)
    expect(await told()).toMatchObject([{ event: 'history.mirrored', data: { activities: 1 } }])
    await queryOnce(url, `update training.activities set detail_state = 'wanted' where path <> 'p0'`)
    expect(await told()).toHaveLength(1)
    await fetchAll(store, accountId)
    expect((await told()).slice(1)).toMatchObject([
      {
        event: 'history.mirrored',
        data: { activities: MANY + 9, text: `${MANY + 9} activities were mirrored` },
      },
    ])
  })

  it('are one message although they arrive one by one, recent ones included', async () => {
    const { store, told, url } = await openScene()
    const accountId = await makeSignedIn(store)
    await list(store, { accountId, paths: numbered(20, 'recent') })
    await list(store, { accountId, paths: numbered(20), daysAgo: 100 })
    await list(store, { accountId, paths: ['last'], daysAgo: 200 })
    await queryOnce(
      url,
      `update training.activities set next_fetch_at = now() + interval '1 day' where path = 'last'`,
    )
    await fetchAll(store, accountId)
    // One activity is still wanted, so the backfill goes on.
    expect(await told()).toEqual([])
    await queryOnce(url, 'update training.activities set next_fetch_at = null')
    await fetchAll(store, accountId)
    expect(await told()).toMatchObject([{ event: 'history.mirrored', data: { activities: 41 } }])
  })

  it('that are recalculated are one message; a few edits are none', async () => {
    const { store, know, told, url } = await openScene([])
    const accountId = await makeSignedIn(store)
    const paths = numbered(MANY)
    await list(store, { accountId, paths, daysAgo: 100 })
    await mirror(store, { accountId, paths: ['recent'] })
    await know([HOME])
    await mirror(store, { accountId, paths: paths.slice(0, 4), daysAgo: 100 }, { xss: 79 })
    expect(await told([HOME])).toEqual([])
    await queryOnce(
      url,
      `update training.activity_revisions set observed_at = observed_at - interval '2 hours'`,
    )
    await list(store, { accountId, paths, daysAgo: 100 })
    await mirror(store, { accountId, paths: ['recent'] }, { xss: 90 })
    expect(await told([HOME])).toMatchObject([
      { event: 'history.recalculated', data: { activities: MANY + 1, account: 'default' } },
    ])
  })
})

describe('a webhook', () => {
  it('gets the events that it names, from its addition on', async () => {
    const { store, know, told } = await openScene([HOME])
    const accountId = await makeAccount(store)
    const lose = () => loseLogin(store, accountId, 'the password was changed')
    await lose()
    expect(await told([HOME])).toMatchObject([{ webhook: 'home', event: 'login.lost' }])
    await know([HOME, PHONE])
    await mirror(store, { accountId, paths: ['p1'] })
    await lose()
    const later = (await told([HOME, PHONE])).slice(1)
    expect(later.map(({ webhook, event }) => `${webhook} ${event}`).toSorted()).toEqual([
      'home activity.new',
      'home login.lost',
      'phone login.lost',
    ])
  })

  it('gets no change from before its addition, even one that is read later', async () => {
    const { store, know, told } = await openScene([HOME])
    const accountId = await makeAccount(store)
    await loseLogin(store, accountId)
    await know([HOME, PHONE])
    expect(await told([HOME, PHONE])).toMatchObject([{ webhook: 'home', event: 'login.lost' }])
  })

  it('that refused further messages or is not recorded yet gets none', async () => {
    const { store, told, url } = await openScene([HOME, PHONE])
    const accountId = await makeAccount(store)
    await queryOnce(url, `update musette.webhooks set gone_at = now() where name = 'phone'`)
    await loseLogin(store, accountId)
    const unknown = makeWebhook('http://127.0.0.1:9', { name: 'unknown' })
    expect(await told([HOME, PHONE, unknown])).toMatchObject([{ webhook: 'home', event: 'login.lost' }])
  })

  it('removed from the file loses its open messages, and starts again when it is back', async () => {
    const { store, know, told } = await openScene([HOME, PHONE])
    const accountId = await makeAccount(store)
    const lose = () => loseLogin(store, accountId)
    await lose()
    await told()
    expect((await know([HOME])).dropped).toEqual([{ webhook: 'phone', count: 1 }])
    await lose()
    await told([HOME])
    await know([HOME, PHONE])
    expect(
      await rowsOf(store, 'select webhook, state, last_error from musette.webhook_messages order by number'),
    ).toEqual([
      { webhook: 'home', state: 'open', last_error: null },
      { webhook: 'phone', state: 'dropped', last_error: 'the webhook is gone from the file' },
      { webhook: 'home', state: 'open', last_error: null },
    ])
    expect(await told([HOME, PHONE])).toHaveLength(3)
  })
})

describe('what a person should know', () => {
  it('a lost login comes with the command to type', async () => {
    const { store, told } = await openScene()
    const accountId = await makeAccount(store, 'second')
    await loseLogin(store, accountId, 'the refresh token was refused')
    expect(await told()).toMatchObject([
      {
        event: 'login.lost',
        data: {
          account: 'second',
          command: 'musette login second',
          title: 'second: The login is lost',
          text: expect.stringMatching(/the refresh token was refused.*run: musette login second$/),
        },
      },
    ])
  })

  it('a refused file comes with the reason; many in an hour share a message', async () => {
    const { store, told } = await openScene()
    const accountId = await makeAccount(store)
    const refuse = (from: number, to: number) =>
      store.transaction(async (tx) => {
        await tx.client.query(
          `insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at)
           select $1, 'c' || n, n || '.fit', 1, now() from generate_series($2::int, $3::int) n`,
          [accountId, from, to],
        )
        await tx.client.query(
          `update training.uploads set state = 'refused', reason = 'no FIT file' where state = 'seen'`,
        )
      })
    await refuse(1, 2)
    const first = { files: 1, file_name: '1.fit', content_id: 'c1', reason: 'no FIT file' }
    expect(await told()).toMatchObject([
      { event: 'upload.refused', data: { ...first, text: '1.fit: no FIT file' } },
      { data: { file_name: '2.fit' } },
    ])
    await refuse(3, 60)
    const later = (await told()).slice(2)
    const more = { files: 55, file_name: null, text: '55 more files were refused; run: musette status' }
    expect(later).toMatchObject([
      ...Array.from({ length: 3 }, () => ({ data: { files: 1 } })),
      { event: 'upload.refused', data: more },
    ])
    await refuse(61, 61)
    expect((await told()).slice(6)).toMatchObject([{ data: { files: 1, file_name: null } }])
  })

  it('events come in order, and none older than three days', async () => {
    const { told, url } = await openScene()
    const insert = (kind: string, detail: object, agoMs = 0) =>
      queryOnce(
        url,
        `insert into training.changes (account_id, kind, detail, at)
         select account_id, $1, $2, clock_timestamp() - $3 * interval '1 ms' from training.accounts`,
        [kind, JSON.stringify(detail), agoMs],
      )
    await queryOnce(
      url,
      `insert into training.accounts (name, base_url) values ('default', 'http://127.0.0.1:9')`,
    )
    await insert('login.lost', { reason: 'older' }, 3 * DAY)
    await insert('restored', {}, 3 * DAY)
    await insert('upload.refused', { file_name: 'a.fit' })
    await insert('login.lost', { reason: 'newer' }, 3 * DAY - HOUR)
    await insert('restored', { up_to: 'unknown' })
    expect(await told()).toMatchObject([
      { event: 'upload.refused', data: { file_name: 'a.fit', reason: null } },
      { event: 'login.lost', data: { reason: 'newer' } },
      { event: 'mirror.restored', account_id: null, data: { up_to: null, backup_made_at: null } },
    ])
  })

  it('a thousand changes are read at a time, and the rest afterwards', async () => {
    const { store, url } = await openScene()
    await queryOnce(
      url,
      `insert into training.changes (kind) select 'workout.changed' from generate_series(1, 1000)`,
    )
    const compose = () => composeMessages({ store }, { webhooks: [HOME], restMs: HOUR })
    await eventually(compose)
    expect(await compose()).toBe(false)
  })

  it('a stale mirror and a failed backup are one message each, and one after recovery', async () => {
    const { store } = await openScene()
    const accountId = await makeAccount(store)
    const account = { accountId, name: 'default' }
    const at = async (mirror: 'wrong' | 'well' | 'unknown', backup: 'wrong' | 'well') => {
      const conditions = [
        { kind: 'mirror', account, state: mirror, sentence: 'No poll', run: undefined },
        { kind: 'backup', account: null, state: backup, sentence: 'The disk is full', run: undefined },
      ] as const
      await composeConditions({ store }, { webhooks: [HOME], conditions })
      const rows = await rowsOf(store, 'select event from musette.webhook_messages order by number')
      return rows.map(({ event }) => event)
    }
    expect(await at('well', 'well')).toEqual([])
    expect(await at('wrong', 'well')).toEqual(['mirror.stale'])
    expect(await at('wrong', 'wrong')).toEqual(['mirror.stale', 'backup.failed'])
    expect(await at('unknown', 'wrong')).toHaveLength(2)
    expect((await at('well', 'well')).slice(2)).toEqual(['mirror.recovered', 'backup.recovered'])
    expect(await at('well', 'well')).toHaveLength(4)
    // Several processes see it at once.
    await Promise.all(Array.from({ length: 4 }, () => at('wrong', 'well')))
    expect(await at('wrong', 'well')).toHaveLength(5)
  })
})

it('a restore is one message, with the last unchanged number of the feed', async () => {
  const { told, url } = await openScene([HOME, PHONE])
  await queryOnce(
    url,
    `insert into training.changes (kind, detail) values ('restored', '{"up_to": 41, "backup_made_at": "2026-05-01T10:00:00.000Z"}')`,
  )
  const restored = {
    webhook: 'home',
    account_id: null,
    event: 'mirror.restored',
    data: {
      ...{ title: 'The mirror was restored', up_to: 41, backup_made_at: '2026-05-01T10:00:00.000Z' },
      text: 'The database is restored from the backup of 2026-05-01T10:00:00.000Z; what the service has since is mirrored again by itself',
    },
  }
  expect(await told()).toMatchObject([restored])
  expect(await told()).toHaveLength(1)
})
