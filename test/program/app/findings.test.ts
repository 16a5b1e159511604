import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { backupSettings } from '../../../src/features/backup/settings.ts'
import { makeFindToday } from '../../../src/features/dashboard/pages/today/queries.ts'
import { FEATURES } from '../../../src/features/index.ts'
import { findConditions } from '../../../src/features/webhooks/open-webhooks.ts'
import { HOUR, MINUTE } from '../../../src/kit/time.ts'
import { makeReadiness } from '../../../src/program/daemon/probes.ts'
import { findListed } from '../../../src/program/doctor/check-listed.ts'
import { collectFindings, listSources } from '../../../src/program/frame/findings/collect-findings.ts'
import { loadStates, makeFacts, type Source } from '../../../src/program/frame/findings/facts.ts'
import { isOpen, isSaid, type Place } from '../../../src/program/frame/findings/finding.ts'
import { findStatus } from '../../../src/program/frame/findings/status-report.ts'
import { openRig, type Rig } from '../../core/mirror/rig.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'

const PLACES: readonly Place[] = ['doctor', 'status', 'page', 'header', 'ready', 'heartbeat', 'message']

const sources: readonly Source[] = await listSources({ states: () => loadStates(FEATURES) })
const RULES = sources.flatMap(({ check, rules }) => Object.values(rules).map((rule) => ({ check, ...rule })))
function ruleOf(code: string) {
  const found = RULES.find((rule) => rule.code === code)
  if (!found) throw new Error(`there is no rule "${code}"`)
  return found
}

let rig: Rig
let folder: TempDir
let backupPath: string
let byHand: string
beforeAll(async () => {
  folder = await openTempDir('findings')
  const file = join(folder.path, 'webhooks.json')
  const secret = `whsec_${Buffer.alloc(24).toString('base64')}`
  await writeFile(
    file,
    JSON.stringify([{ name: 'home', style: 'standard', url: 'http://127.0.0.1:9', secret }]),
  )
  rig = await openRig({
    activities: 0,
    env: {
      MUSETTE_BACKUP_DIR: join(folder.path, 'backups'),
      MUSETTE_EXPORT_DIR: join(folder.path, "the rider's"),
      MUSETTE_WEBHOOKS: file,
      MUSETTE_HEARTBEAT_URL: 'http://127.0.0.1:9/ping',
      MUSETTE_MQTT_URL: 'mqtt://127.0.0.1:9',
    },
  })
  const [row] = await rig.rows('select line from training.database')
  backupPath = join(folder.path, 'backups', `musette-20260101T000000Z-${String(row?.line).slice(0, 8)}.tar`)
  byHand = `musette backup ${folder.path}/backups/by-hand.tar`
  await mkdir(join(folder.path, 'backups'))
  await writeFile(backupPath, 'a backup')
})
afterAll(async () => {
  await rig?.close()
  await folder?.close()
})

/** A run so long ago; `account` has those of the first account. */
const run = (resource: string, ago: string, outcome: string, kind = 'schedule', account = 'null') =>
  `insert into training.sync_runs (account_id, resource, kind, started_at, finished_at, outcome, failed, error)
   select ${account}, '${resource}', '${kind}', now() - interval '${ago}', now() - interval '${ago}', '${outcome}', 1,
     nullif('${outcome}', 'done') from training.accounts`
const poll = (ago: string, outcome = 'done') => run('activities', ago, outcome, 'poll', 'account_id')
const login = (values: string) => `update musette.credentials set ${values}`
const upload = (state: string, ago: string) =>
  `insert into training.uploads (account_id, content_id, file_name, size_bytes, state, reason, seen_at)
   select account_id, 'x', 'a.fit', 1, '${state}', 'it is cut.', now() - interval '${ago}' from training.accounts`
const waiting = (code: string) =>
  `insert into training.waiting_files (folder, path, code, reason, waiting_since, looked_at)
   values ('/d', 'a.fit', '${code}', 'it is ${code}', now(), now())`
const activity = (columns: string, values: string) =>
  `insert into training.activities (account_id, path, listed_at, wanted_at, ${columns})
   select account_id, 'p', now(), now(), ${values} from training.accounts`
const message = (column: string, value: string) =>
  `insert into musette.webhook_messages (webhook, event, occurred_at, data, last_error, ${column})
   values ('home', 'test', now(), '{}', 'HTTP 500', ${value})`
const without = (resource: string) => `delete from training.sync_runs where resource = '${resource}'`
const NEVER_POLLED = 'delete from training.sync_runs where account_id is not null'
const FIT_FILE = `${upload('mirrored', '1 minute')}; insert into training.fit_files (account_id, content_id, size_bytes, parts, records, fields, read_at, reader_version)
  select account_id, 'x', 1, 1, 1, '{}', now(), 0 from training.accounts`

/** A mirror in order. */
const WELL = [
  'update training.accounts set needs_login = false, created_at = now()',
  login(
    `obtained_at = now(), expires_at = now() + interval '7 days', failures = 0, not_before = null, refused_since = null`,
  ),
  'update musette.riders set is_other = false',
  ...['sync_runs', 'waiting_files', 'fit_originals', 'fit_files', 'uploads', 'activities'].map(
    (table) => `delete from training.${table}`,
  ),
  'delete from musette.webhook_messages',
  'delete from musette.webhooks',
  `insert into musette.webhooks (name, change_id) values ('home', 0)`,
  'delete from musette.mqtt_publisher',
  'insert into musette.mqtt_publisher (change_id, looked_at, published_at) values (0, now(), now())',
  poll('1 minute'),
  ...['export', 'backup', 'backup-verify', 'heartbeat'].map((resource) => run(resource, '1 minute', 'done')),
]

/** The code | what is done in the database | a part of the sentence | the command; the table of the code says where it is shown. */
const SITUATIONS = () => `
other_rider | update musette.riders r set is_other = true, pair = sha256(c.access_token) from musette.credentials c | account "default" is signed in as another rider than that of its activities | musette login
needs_login | update training.accounts set needs_login = true | account "default" needs a login | musette login
token_refused | ${login(`refused_since = now() - interval '3 hours'`)} | gets tokens that the service refuses, for 3 h | musette sync
refresh_failed | ${login(`failures = 3, not_before = '2030-01-01T00:00:00Z'`)} | has 3 failed refreshes in a row; the next attempt comes after 2030-01-01T00:00:00.000Z | musette status
token_ended | ${login(`expires_at = now() - interval '1 day'`)} | ended 1 d ago | musette sync
token_old | ${login(`obtained_at = now() - interval '6 days', expires_at = now() + interval '1 day'`)} | so no daemon renews it | musette start
never_polled | ${NEVER_POLLED} | account "default" was not polled yet | musette sync
mirror_stale | ${NEVER_POLLED}; ${poll('50 minutes')} | account "default" had no successful poll for 50 min | musette sync
run_failed | ${poll('1 second', 'failed')} | had a run that failed (failed) | musette sync
list_not_applied | ${run('activities', '5 minutes', 'failed', 'reconcile', 'account_id')} | changed nothing: failed |
activities_failed | ${activity('detail_state', `'failed'`)} | has 1 activity that could not be fetched | musette sync
days_of_utc | ${activity('detail_state, fetched_at, timezone_source', `'mirrored', now(), 'unknown'`)} | has 1 activity with the days and hours of UTC | musette accounts set default --timezone ZONE
activities_not_compared | ${run('scrub', '1 hour', 'partial', 'schedule', 'account_id')} | has 1 activity that could not be compared | musette verify
drop_folder_gone | ${waiting('vanished')} | it is vanished | musette doctor
file_waits | ${waiting('not_whole')} | a.fit waits: it is not_whole | musette status
file_refused | ${upload('refused', '1 hour')} | the file a.fit of account "default" was refused: it is cut; the reason | musette status
files_not_uploaded | ${upload('unconfirmed', '7 hours')} | 1 file is not uploaded after hours | musette status
fit_files_outdated | ${FIT_FILE}; insert into training.fit_originals (account_id, content_id, encoding, body) select account_id, 'x', 'gzip', '' from training.accounts | an earlier version read 1 FIT file, so | musette rebuild
fit_files_gone | ${FIT_FILE} | an earlier version read 1 FIT file whose bytes are not kept | musette upload FILE…
export_missing | ${without('export')} | nothing was exported into | musette start
export_failed | ${run('export', '1 second', 'failed')} | failed (failed); it has what was there 1 min | musette export --all --format parquet --to '${folder.path}/the rider'\\''s'
export_late | ${without('export')}; ${run('export', '3 hours', 'done')} | exported 3 h ago | musette start
backup_missing | in an empty folder ${without('backup')} | there is no backup yet | musette start
backup_failed | ${run('backup', '1 second', 'failed')} | the last backup failed (failed); the last one was made | ${byHand}
backup_disk_full | ${run('backup', '1 second', 'failed')}; update training.sync_runs set error_code = 'backup_disk_full' where outcome = 'failed' | make room | df -h ${folder.path}/backups
backup_gone | in an empty folder ${run('backup', '0 seconds', 'done')} | the folder holds no backup of this database | ${byHand.replace('backups', 'none')}
backup_late | every moment | and one is due every 0.0 s | ${byHand}
backup_unproved | ${run('backup-verify', '1 second', 'failed')} | could not be (failed) | musette backup --verify ${backupPath}
backup_unproved | ${without('backup-verify')}; ${run('backup-verify', '22 days', 'done')} | no backup was restored and compared for 22 d | musette backup --verify ${backupPath}
webhook_new | delete from musette.webhooks | a daemon that runs begins to send | musette start
webhook_gone | update musette.webhooks set gone_at = now() | 410 Gone | musette webhook test home
messages_given_up | ${message('state, ended_at', `'given_up', now()`)} | webhook "home": 1 message was given up in the last week (HTTP 500) | musette webhook test home
messages_late | ${message('created_at', `now() - interval '2 hours'`)} | webhook "home": 1 message waits for up to 2 h (HTTP 500) | musette webhook test home
heartbeat_missing | ${without('heartbeat')} | no heartbeat was sent yet | musette start
heartbeat_reported | ${run('heartbeat', '1 second', 'partial')} | the monitor was told |
heartbeat_failed | ${run('heartbeat', '1 second', 'failed')} | failed | musette config
heartbeat_late | ${without('heartbeat')}; ${run('heartbeat', '1 hour', 'done')} | the last heartbeat is 1 h old | musette start
mqtt_away | update musette.mqtt_publisher set looked_at = now() - interval '4 minutes' | no daemon is connected | musette start
no_account | delete from training.accounts | there is no account yet | musette login`

/** Codes that need folders or accounts of others, with the file whose tests see them. */
const ELSEWHERE = ['accounts_of_one_rider', 'folder_of_another', 'backups_of_others']

it('a stale mirror is one sentence with one command to everybody that tells of it', async () => {
  const found = 'account "default" had no successful poll for 50 min (the service is away)'
  const { config, store } = rig.app
  await rig.rows(WELL.join(';'))
  await rig.rows(`${NEVER_POLLED}; ${poll('50 minutes')}; ${poll('1 minute', 'failed')}`)
  await rig.rows(`update training.sync_runs set error = 'the service is away' where error = 'failed'`)
  const diagnosed = await findListed(
    { config, mirror: async () => ({ store, url: rig.databaseUrl }) },
    'mirror',
  )
  expect(diagnosed[0]).toMatchObject({ state: 'warning', found, run: 'musette sync' })
  const { findings } = await findStatus(rig.app)
  expect(findings).toMatchObject([
    {
      code: 'mirror_stale',
      severity: 'warning',
      account: 'default',
      found,
      run: 'musette sync',
      since: expect.any(Date),
    },
  ])
  const today = await makeFindToday(rig.app, [])({})
  expect(today?.problems).toEqual([
    { text: `${found.replace('account "default"', 'Account “default”')}. Type:`, command: 'musette sync' },
  ])
  const jobs = { counts: async () => ({ polls: {}, fetches: {} }) }
  expect(await makeReadiness({ app: rig.app, jobs }, ['worker'])()).toMatchObject({
    ready: false,
    parts: { polls: '1 of 1 accounts not polled lately; run: musette status' },
  })
})

it('a daemon that has just started says nothing of polls and backups, and of what is past for a day', async () => {
  const now = new Date()
  const long = { now, startedAt: new Date(now.getTime() - 3 * HOUR) }
  const young = { now, startedAt: new Date(now.getTime() - 10 * MINUTE) }
  const stateOf = async (times: typeof long) =>
    (await findConditions(rig.app, times)).map(({ state }) => state)
  await rig.rows(WELL.join(';'))
  expect(await stateOf(young)).toEqual(['well', 'well'])
  await rig.rows(`${NEVER_POLLED}; ${poll('50 minutes')}; ${run('backup', '1 second', 'failed')}`)
  expect(await stateOf(young)).toEqual(['unknown', 'unknown'])
  expect(await stateOf(long)).toEqual(['wrong', 'wrong'])
  await rig.rows('update training.accounts set needs_login = true')
  expect(await stateOf(long)).toEqual(['unknown', 'wrong'])
  const at = (code: string, hours = 0) => {
    const rule = ruleOf(code)
    const since = new Date(now.getTime() - hours * HOUR)
    const finding = {
      state: rule.severity === 'calm' ? 'calm' : 'warning',
      found: '',
      rule,
      since,
    } as const
    return [isOpen(finding, young), isSaid(finding, young), isSaid(finding, long)]
  }
  expect(at('mirror_stale')).toEqual([true, false, true])
  expect(at('never_polled')).toEqual([true, false, false])
  expect(at('file_waits', 30)).toEqual([false, true, true])
  expect(at('file_refused', 23)).toEqual([false, true, true])
  expect(at('file_refused', 25)).toEqual([false, false, false])
})

it('docs/monitoring.md has the table of the code', async () => {
  const page = await readFile('docs/monitoring.md', 'utf8')
  const rows = page.split('\n').filter((line) => /^\| `[a-z]+_[a-z_]+` \| \w+ \| [a-z, ]+ \| /.test(line))
  const table = RULES.map(
    ({ code, severity, shown, run }) =>
      `| \`${code}\` | ${severity} | ${shown.join(', ')} | ${run && `\`${run}\``} |`,
  )
  expect(rows).toEqual(table)
})

// The last situation deletes the account.
it('each situation is one finding with its command, shown where the table says, and over with the situation', async () => {
  const codes = new Set<string>(ELSEWHERE)
  const lines = SITUATIONS().trim()
  for (const line of lines.split(/\n(?=[a-z_]+ \|)/)) {
    const cells = line.split('|').map((cell) => cell.trim())
    const [code, does, found, run] = cells as [string, string, string, string]
    const rule = ruleOf(code)
    codes.add(code)
    await rig.rows(WELL.join(';'))
    const { config, store } = rig.app
    const asSet = backupSettings.of(config)
    const everyMs = does === 'every moment' ? 0 : asSet.everyMs
    const dir = does.startsWith('in an empty folder') ? join(folder.path, 'none') : asSet.dir
    const collect = async (place: Place, backup = { ...asSet, dir, everyMs }) => {
      const features = new Map(config.features).set(backupSettings, backup)
      const facts = makeFacts({ config: { ...config, features }, store, features: FEATURES }, new Date())
      return (await collectFindings(facts, { place })).filter(({ state }) => state !== 'ok')
    }
    expect([code, await collect('doctor', asSet)]).toEqual([code, []])
    await rig.rows(does.replace(/^(every moment|in an empty folder)/, ''))
    const shown: Place[] = []
    for (const place of PLACES)
      for (const finding of await collect(place)) {
        expect(finding).toMatchObject({
          rule: { code },
          found: expect.stringContaining(found),
          check: rule.check,
        })
        expect(finding.run ?? '').toBe(run)
        shown.push(place)
      }
    expect([code, shown]).toEqual([code, PLACES.filter((place) => rule.shown.includes(place))])
  }
  expect([...codes].sort()).toEqual(RULES.map(({ code }) => code).sort())
})
