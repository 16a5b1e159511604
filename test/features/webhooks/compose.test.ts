import { describe, expect, it } from 'vitest'
import { composeConditions } from '../../../src/features/webhooks/compose.ts'
import { DAY, HOUR } from '../../../src/kit/time.ts'
import { makeAccount, rowsOf } from '../../core/store/open.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { makeWebhook } from './receiver.ts'
import { fetchAll, list, loseLogin, makeSignedIn, mirror, openScene, type Told } from './scene.ts'

const HOME = makeWebhook('http://127.0.0.1:9')
const PHONE = makeWebhook('http://127.0.0.1:9', { name: 'phone', events: ['login.lost'] })
const MANY = 300

const eventsOf = (told: readonly Told[]) => told.map(({ event }) => event)
const numbered = (count: number, letter = 'p') =>
  Array.from({ length: count }, (_, index) => `${letter}${index}`)

const WAITING = 'select from musette.webhook_waiting'

describe('a new activity', () => {
  it('is one message after its samples and scores arrive, then one on its breakthrough', async () => {
    const { store, know, told } = await openScene()
    const accountId = await makeAccount(store)
    await list(store, { accountId, paths: ['p1'] })
    // A daemon that starts before the change is read does not record the wait twice.
    await know([HOME])
    expect(await rowsOf(store, WAITING)).toEqual([])
    expect(await told()).toEqual([])
    const scores = { prevSigFtp: 250, sigFtp: 255, prevSigPp: 900, sigPp: 900.2, breakthrough: 1 }
    await fetchAll(store, accountId, scores)
    const said = { title: 'New activity: "Ride p1"', text: '1 h 30 min, XSS 80, FTP 250 → 255 W' }
    const data = { ...said, account: 'default', path: 'p1', xss: 80, sig_ftp: 255, elapsed_s: 5_400 }
    const broken = { title: 'A breakthrough', text: 'The new activity "Ride p1": FTP 250 → 255 W' }
    const messages = [
      { webhook: 'home', account_id: accountId, event: 'activity.new', data },
      { event: 'breakthrough', data: broken },
    ]
    expect(await told()).toMatchObject(messages)
    // An edit and a recalculation cause no second message.
    await mirror(store, { accountId, paths: ['p1'], name: 'Renamed' }, { xss: 81, breakthrough: 2 })
    expect(await told()).toMatchObject(messages)
  })

  it('gets no message if its samples came before the first webhook', async () => {
    const { store, know, told } = await openScene([])
    const accountId = await makeAccount(store)
    await store.transaction(async (tx) => {
      // A transaction with a transaction ID, in any database of the server, holds back the settled changes.
      await tx.client.query('select pg_current_xact_id()')
      await mirror(store, { accountId, paths: ['before'] })
      await list(store, { accountId, paths: ['after'] })
      await know([HOME])
    })
    await fetchAll(store, accountId)
    expect(await told([HOME])).toMatchObject([{ event: 'activity.new', data: { path: 'after' } }])
  })
})

describe('many activities at once', () => {
  it('get a message each if at most five are recent; other activities share one', async () => {
    const { store, told, url } = await openScene()
    const accountId = await makeSignedIn(store)
    await list(store, { accountId, paths: numbered(4) })
    await mirror(store, { accountId, paths: ['recent'], daysAgo: 13.9 })
    expect(eventsOf(await told())).toEqual(Array(5).fill('activity.new'))
    await queryOnce(url, `update training.activities set first_seen_at = first_seen_at - interval '1 hour'`)
    await mirror(store, { accountId, paths: ['old'], daysAgo: 14 })
    expect(eventsOf((await told()).slice(5))).toEqual(['history.mirrored'])
    await mirror(store, { accountId, paths: numbered(5, 'more') })
    expect((await told()).slice(6)).toMatchObject([{ event: 'history.mirrored', data: { activities: 5 } }])
  })

  it('share one message even if they arrive one by one, including recent ones', async () => {
    const { store, told, sql } = await openScene()
    const accountId = await makeSignedIn(store)
    await list(store, { accountId, paths: numbered(20, 'recent') })
    await list(store, { accountId, paths: numbered(MANY), daysAgo: 100 })
    await list(store, { accountId, paths: ['last', 'broken'], daysAgo: 200 })
    await sql`update training.activities set next_fetch_at = now() + interval '1 day' where path = 'last'`
    await sql`update training.activities set detail_state = 'failed' where path = 'broken'`
    await fetchAll(store, accountId)
    // One activity is still wanted, so the backfill continues; it does not wait for a failed activity.
    expect(await told()).toEqual([])
    await sql`update training.activities set next_fetch_at = null`
    await fetchAll(store, accountId)
    const data = { activities: MANY + 21, text: `${MANY + 21} activities were mirrored` }
    expect(await told()).toMatchObject([{ event: 'history.mirrored', data }])
  })

  it('share one message after a recalculation; a few edits get none', async () => {
    const { store, know, told, sql } = await openScene([])
    const accountId = await makeSignedIn(store)
    const paths = numbered(MANY)
    await list(store, { accountId, paths, daysAgo: 100 })
    await mirror(store, { accountId, paths: ['recent'] })
    await know([HOME])
    await mirror(store, { accountId, paths: paths.slice(0, 4), daysAgo: 100 }, { xss: 79 })
    expect(await told([HOME])).toEqual([])
    await sql`update training.activity_revisions set observed_at = observed_at - interval '2 hours'`
    await list(store, { accountId, paths, daysAgo: 100 })
    await mirror(store, { accountId, paths: ['recent'] }, { xss: 90 })
    const data = { activities: MANY + 1, account: 'default' }
    expect(await told([HOME])).toMatchObject([{ event: 'history.recalculated', data }])
  })
})

describe('a webhook', () => {
  it('gets the events in its list that follow its addition', async () => {
    const { store, know, told } = await openScene([HOME])
    const accountId = await makeAccount(store, 'second')
    await loseLogin(store, accountId, 'the refresh token was refused')
    // The change is read after the other webhook was added, but is older than it.
    await know([HOME, PHONE])
    const text = expect.stringMatching(/the refresh token was refused.*run: musette login second$/)
    const data = {
      account: 'second',
      command: 'musette login second',
      title: 'second: The login is lost',
      text,
    }
    expect(await told([HOME, PHONE])).toMatchObject([{ webhook: 'home', event: 'login.lost', data }])
    await mirror(store, { accountId, paths: ['p1'] })
    await loseLogin(store, accountId)
    const unknown = makeWebhook('http://127.0.0.1:9', { name: 'not recorded' })
    const later = (await told([HOME, PHONE, unknown])).slice(1)
    expect(later.map(({ webhook, event }) => `${webhook} ${event}`).toSorted()).toEqual([
      'home activity.new',
      'home login.lost',
      'phone login.lost',
    ])
  })

  it('gets none after a 410; removed from the file it loses open messages, then starts anew', async () => {
    const { store, know, told, sql } = await openScene([HOME, PHONE])
    const accountId = await makeAccount(store)
    const lose = () => loseLogin(store, accountId)
    const webhooksTold = async (list = [HOME, PHONE]) => (await told(list)).map(({ webhook }) => webhook)
    await lose()
    expect(await webhooksTold()).toEqual(['home', 'phone'])
    await sql`update musette.webhooks set gone_at = now() where name = 'phone'`
    await lose()
    expect(await webhooksTold()).toEqual(['home', 'phone', 'home'])
    expect((await know([HOME])).dropped).toEqual([{ webhook: 'phone', count: 1 }])
    await lose()
    await told([HOME])
    await know([HOME, PHONE])
    expect(await webhooksTold()).toHaveLength(4)
    const states = 'select state, last_error from musette.webhook_messages where webhook = $1'
    expect(await rowsOf(store, states, ['phone'])).toEqual([
      { state: 'dropped', last_error: 'the webhook was removed from the file' },
    ])
  })
})

describe('messages', () => {
  it('state why a file was refused; many refusals in an hour share one message', async () => {
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
      { event: 'upload.refused', data: { ...first, text: 'The file "1.fit": no FIT file' } },
      { data: { file_name: '2.fit' } },
    ])
    await refuse(3, 60)
    const more = { files: 55, file_name: null, text: '55 more files were refused; run: musette status' }
    const each = { data: { files: 1 } }
    expect((await told()).slice(2)).toMatchObject([each, each, each, { event: 'upload.refused', data: more }])
    await refuse(61, 61)
    expect((await told()).slice(6)).toMatchObject([{ data: { files: 1, file_name: null } }])
  })

  it('come in order, none older than three days, and a restore has the last valid number', async () => {
    const { store, told, url } = await openScene([HOME, PHONE])
    await makeAccount(store)
    const insert = (kind: string, detail: object, agoMs = 0) =>
      queryOnce(
        url,
        `insert into training.changes (account_id, kind, detail, at)
         select account_id, $1, $2, clock_timestamp() - $3 * interval '1 ms' from training.accounts`,
        [kind, JSON.stringify(detail), agoMs],
      )
    const backup = { up_to: 41, backup_made_at: '2026-05-01T10:00:00.000Z' }
    await insert('login.lost', { reason: 'older' }, 3 * DAY)
    await insert('restored', {}, 3 * DAY)
    await insert('upload.refused', { file_name: 'a.fit' })
    await insert('login.lost', { reason: 'newer' }, 3 * DAY - HOUR)
    await insert('restored', { up_to: 'unknown' })
    await insert('restored', backup)
    const text =
      'The database was restored from the backup of 2026-05-01T10:00:00.000Z; musette fetches later changes from the service by itself'
    const restored = { webhook: 'home', account_id: null, event: 'mirror.restored' }
    const messages = [
      { webhook: 'home', event: 'upload.refused', data: { file_name: 'a.fit', reason: null } },
      { webhook: 'home', event: 'login.lost', data: { reason: 'newer' } },
      { webhook: 'phone', event: 'login.lost', data: { reason: 'newer' } },
      { ...restored, data: { up_to: null, backup_made_at: null } },
      { ...restored, data: { ...backup, title: 'The mirror was restored', text } },
    ]
    for (const _ of [1, 2]) expect(await told()).toMatchObject(messages)
  })

  it('report a stale mirror, a failed backup, and each recovery once', async () => {
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
    const expected: string[] = []
    for (const [mirror, backup, ...events] of [
      ['well', 'well'],
      ['wrong', 'well', 'mirror.stale'],
      ['wrong', 'wrong', 'backup.failed'],
      ['unknown', 'wrong'],
      ['well', 'well', 'mirror.recovered', 'backup.recovered'],
      ['well', 'well'],
    ] as const) {
      expected.push(...events)
      expect(await at(mirror, backup)).toEqual(expected)
    }
    // Several processes see the fault at once.
    await Promise.all(Array.from({ length: 4 }, () => at('wrong', 'well')))
    expect(await at('wrong', 'well')).toEqual([...expected, 'mirror.stale'])
  })
})
