import { expect, it } from 'vitest'
import { FEATURES } from '../../../src/features/index.ts'
import type { Config } from '../../../src/program/config/config.ts'
import { collectFindings, listSources } from '../../../src/program/frame/findings/collect-findings.ts'
import { type Facts, loadStates, makeFacts, type Source } from '../../../src/program/frame/findings/facts.ts'
import type { Place } from '../../../src/program/frame/findings/finding.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { loadFeatureRows, type SituationRows } from '../../kit/feature-rows.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { poll, run } from '../../kit/runs.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const features = await loadFeatureRows()
const SETTINGS = features.flatMap(({ settings = {} }) => Object.entries(settings))

const PLACES: readonly Place[] = ['doctor', 'status', 'page', 'header', 'ready', 'heartbeat', 'message']

const sources: readonly Source[] = await listSources({ states: () => loadStates(FEATURES) })
const RULES = sources.flatMap(({ check, rules }) => Object.values(rules).map((rule) => ({ check, ...rule })))
function ruleOf(code: string) {
  const found = RULES.find((rule) => rule.code === code)
  if (!found) throw new Error(`there is no rule "${code}"`)
  return found
}

let line: string
const folder = openForAll(() => openTempDir('findings'))
const database = openForAll(openTestDatabase)
const rig = openForAll(async () => {
  const [row] = await queryOnce(database.url, 'select line from training.database')
  line = String(row?.line).slice(0, 8)
  const settings = await Promise.all(features.map(({ env }) => env?.(folder.path, line)))
  return openRig({ activities: 0, databaseUrl: database.url, env: Object.assign({}, ...settings) })
})

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
const without = (resource: string) => `delete from training.sync_runs where resource = '${resource}'`
const NEVER_POLLED = 'delete from training.sync_runs where account_id is not null'
const FIT_FILE = `${upload('mirrored', '1 minute')}; insert into training.fit_files (account_id, content_id, size_bytes, parts, records, fields, read_at, reader_version)
  select account_id, 'x', 1, 1, 1, '{}', now(), 0 from training.accounts`

/** The statements for a mirror without problems. */
const WELL = [
  'update training.accounts set needs_login = false, created_at = now()',
  login(
    `obtained_at = now(), expires_at = now() + interval '7 days', failures = 0, not_before = null, refused_since = null`,
  ),
  'update musette.riders set is_other = false',
  ...['sync_runs', 'waiting_files', 'fit_originals', 'fit_files', 'uploads', 'activities'].map(
    (table) => `delete from training.${table}`,
  ),
  ...features.flatMap(({ well = [] }) => well),
  poll('1 minute'),
  ...features.flatMap(({ runs = [] }) => runs.map((resource) => run(resource, '1 minute', 'done'))),
]

/** Columns: code, statements on the database, a part of the sentence, the command. The rule of the code says where it is shown. */
const SITUATIONS = `
other_rider | update musette.riders r set is_other = true, pair = sha256(c.access_token) from musette.credentials c | account "default" has activities of one rider but is signed in as another | musette login
needs_login | update training.accounts set needs_login = true | account "default" needs a login | musette login
token_refused | ${login(`refused_since = now() - interval '3 hours'`)} | gets tokens that the service refuses, for 3 h | musette sync
token_refused | ${login(`refused_since = now() - interval '3 hours', failures = 2`)} | has been refused new tokens for 3 h | musette sync
needs_login | ${login(`refused_since = now() - interval '2 days', failures = 9`)}; update training.accounts set needs_login = true | the service has refused new tokens for 2 d; the present one ends in 6 d 23 h | musette login
refresh_failed | ${login(`failures = 3, not_before = '2030-01-01T00:00:00Z'`)} | has 3 failed refreshes in a row; the next attempt comes after 2030-01-01T00:00:00.000Z | musette status
token_ended | ${login(`expires_at = now() - interval '1 day'`)} | ended 1 d ago | musette sync
token_old | ${login(`obtained_at = now() - interval '6 days', expires_at = now() + interval '1 day'`)} | so no daemon renews it | musette start
never_polled | ${NEVER_POLLED} | account "default" has not been polled yet | musette sync
mirror_stale | ${NEVER_POLLED}; ${poll('50 minutes')} | account "default" had no successful poll for 50 min | musette sync
run_failed | ${poll('1 second', 'failed')} | had a run that failed (failed) | musette sync
list_not_applied | ${run('activities', '5 minutes', 'failed', 'reconcile', 'account_id')} | but nothing was changed: failed |
entries_unreadable | ${run('activities', '5 minutes', 'partial', 'reconcile', 'account_id')} | has unreadable entries in its list: partial |
activities_failed | ${activity('detail_state', `'failed'`)} | has 1 activity that could not be fetched | musette sync
days_of_utc | ${activity('detail_state, fetched_at, timezone_source', `'mirrored', now(), 'unknown'`)} | has 1 activity with days and hours in UTC | musette accounts set default --timezone ${Intl.DateTimeFormat().resolvedOptions().timeZone}
activities_not_compared | ${run('scrub', '1 hour', 'partial', 'schedule', 'account_id')} | has 1 activity that could not be compared | musette verify
drop_folder_gone | ${waiting('vanished')} | it is vanished | musette doctor
file_waits | ${waiting('not_whole')} | a.fit waits: it is not_whole | musette status
file_refused | ${upload('refused', '1 hour')} | the file a.fit of account "default" was refused: it is cut; the reason | musette status
files_not_uploaded | ${upload('unconfirmed', '7 hours')} | 1 file is still not uploaded after hours | musette status
fit_files_outdated | ${FIT_FILE}; insert into training.fit_originals (account_id, content_id, encoding, body) select account_id, 'x', 'gzip', '' from training.accounts | an earlier version read 1 FIT file, so | musette rebuild
fit_files_gone | ${FIT_FILE} | an earlier version read 1 FIT file whose bytes are not kept |
no_account | delete from training.accounts | there is no account yet | musette login`

/** Codes that need a server, folders or other accounts; other tests cover them. */
const ELSEWHERE = [
  ...['slot_keeps_wal', 'order_of_texts_changed', 'wraparound_near'],
  ...['accounts_of_one_rider', 'folder_of_another'],
  ...features.flatMap(({ elsewhere = [] }) => elsewhere),
]

const rowsOf = (situations: SituationRows['situations']) =>
  (situations?.({ folder: folder.path, line, run, without }) ?? '')
    .trim()
    .split(/\n+(?=[a-z_]+ \|)/)
    .filter(Boolean)

it('every finding has a situation here or in another test', () => {
  const codes = TABLES.flatMap(([, situations]) => rowsOf(situations).map((row) => row.split(' ')[0]))
  expect([...new Set([...codes, ...ELSEWHERE])].sort()).toEqual(RULES.map(({ code }) => code).sort())
})

const TABLES = [
  ...features
    .filter(({ situations }) => situations)
    .map(({ name, situations }) => [name, situations] as const),
  ['core', () => SITUATIONS] as const,
]

// The last situation of the last table deletes the account.
it.each(TABLES)(
  'each situation of %s makes one finding with its command, shown in its places until the situation is over',
  async (_, situations) => {
    for (const row of rowsOf(situations)) {
      const cells = row.split('|').map((cell) => cell.trim())
      const [code, does, found, run] = cells as [string, string, string, string]
      const rule = ruleOf(code)
      await rig.rows(WELL.join(';'))
      const { config, store } = rig.app
      const [words, other] = SETTINGS.find(([words]) => does.startsWith(words)) ?? ['']
      const factsNow = (of: Config) => makeFacts({ config: of, store, features: FEATURES }, new Date())
      const collect = async (facts: Facts, place: Place) =>
        (await collectFindings(facts, { place })).filter(({ state }) => state !== 'ok')
      expect([code, await collect(factsNow(config), 'doctor')]).toEqual([code, []])
      await rig.rows(does.slice(words.length))
      const facts = factsNow(other?.(config, folder.path) ?? config)
      const shown: Place[] = []
      for (const place of PLACES)
        for (const finding of await collect(facts, place)) {
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
  },
)
