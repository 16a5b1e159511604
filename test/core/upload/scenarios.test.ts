import { describe, expect, it } from 'vitest'
import { FIT_EPOCH_S } from '../../../src/core/fit/profile.ts'
import { RateLimitedError, TransientError } from '../../../src/kit/errors.ts'
import { MINUTE } from '../../../src/kit/time.ts'
import { makeRide } from '../../kit/ride.ts'
import { FILE_ID_ACTIVITY, littleEndian, T0, wrap } from '../fit/wrap.ts'
import { useUploadRig } from './rig.ts'

// By default, a ride that the service already lists waits for the mirror.
const rig = useUploadRig({ env: { MUSETTE_KNOWN_RIDES: 'send' } })

const ride = makeRide()
/** The files of the scenarios: a ride, and other devices' recordings of it. */
const FILES: Readonly<Record<string, Buffer>> = {
  'ride.fit': ride,
  'near.fit': makeRide({ start: '2026-05-03T08:00:40Z', seed: 2 }),
  'same.fit': makeRide({ seed: 3 }),
}

function fail(code: string, message: string, options: { requestSent?: boolean } = {}): () => Promise<never> {
  return () => Promise.reject(new TransientError(code, message, options))
}
const sending = (uploadFit: () => Promise<never>) => ({
  ...rig.deps,
  serviceOf: () => ({ ...rig.deps.serviceOf(rig.account), uploadFit }),
})

/** Imports a file whose response is lost although the service has the file; returns the resulting activity. */
async function loseAnswer(name: string, bytes: Uint8Array) {
  await rig.fault({ kind: 'lost-answer' })
  // A file without a time of day may have been recorded until its last change.
  expect(await rig.importFile(name, bytes, { changedAt: new Date(0) })).toMatchObject({ action: 'wait' })
  expect(await rig.find(bytes)).toMatchObject({ state: 'unconfirmed', attempts: 1 })
  return (await rig.uploaded()).find((activity) => activity.name === name)?.path
}

/** Imports a file that is sent but never reaches the service. */
async function loseFile(name: string, bytes: Uint8Array): Promise<void> {
  const lost = fail('connection_lost', 'the connection was lost', { requestSent: true })
  await rig.importFile(name, bytes, { deps: sending(lost) })
  expect(await rig.find(bytes)).toMatchObject({ state: 'unconfirmed', activityPath: null })
}

/** Does what the daemon does in four minutes. */
async function checkAll(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await rig.fetchWanted()
    await rig.sweep()
    rig.ahead(MINUTE)
  }
}

const pathOf = async (bytes: Uint8Array) => (await rig.find(bytes))?.activityPath ?? undefined
const start = (path: string) => ({ started_at: '2026-05-03T08:00:00Z', seconds: 60, path })

/** Returns the steps of the scenarios: each step starts with its word here, followed by the arguments. `first` is the activity of the story. */
function openScenario() {
  let first: string | undefined
  const restingSince = rig.deps.now()
  const steps: Record<string, (...words: string[]) => Promise<unknown>> = {
    import: (name = '') => rig.importFile(name, FILES[name] ?? ride),
    'import-as-before': (name = '') => rig.importFile(name, FILES[name] ?? ride, { restingSince }),
    'lose-answer': async (name = '') => {
      first = await loseAnswer(name, FILES[name] ?? ride)
    },
    'lose-file': (name = '') => loseFile(name, FILES[name] ?? ride),
    /** The service has the file, but the ledger does not know it; nor does the mirror, unless it has had the activity for a day. */
    elsewhere: async (mirrored) => {
      await rig.importFile('elsewhere.fit', ride)
      first = await pathOf(ride)
      if (mirrored === 'mirrored') await rig.fetchWanted()
      await rig.rows(
        `truncate training.uploads${mirrored === 'mirrored' ? '' : ', training.activities'} cascade`,
      )
      await rig.rows(`update training.activities set first_seen_at = now() - interval '1 day'`)
    },
    duplicates: (are) => rig.steer('PATCH', 'settings', { duplicate_uploads: are }),
    fault: (status) => rig.fault({ kind: 'status', status: Number(status), retry_after: 1 }),
    'no-list': () => rig.fault({ path: '^/oauth/activity$', kind: 'status', status: 429, retry_after: 1 }),
    sweep: () => rig.sweep(),
    fetch: () => rig.fetchWanted(),
    daemon: checkAll,
    ahead: async (minutes) => rig.ahead(Number(minutes) * MINUTE),
    delete: () => rig.steer('DELETE', `activities/${first}`),
    revive: () => rig.steer('POST', `activities/${first}/revive`),
    'without-samples': () =>
      rig.rows(`update training.activities set detail_state = 'mirrored', sample_count = 0`),
    absent: () => rig.rows('update training.activities set absent_since = now()'),
    twin: async () => {
      await rig.steer('PATCH', `activities/${first}`, { name: 'Renamed' })
      await rig.steer('POST', 'activities', start('twin'))
    },
    /** The mirror has known a listed activity for an hour, or the story's activity since now. */
    known: async (path = first) => {
      if (path !== first) await rig.steer('POST', 'activities', start(path ?? ''))
      const since = path === first ? '0' : '1 hour'
      const values = [rig.account.accountId, path, since]
      await rig.rows(
        `insert into training.activities (account_id, path, listed_at, wanted_at, first_seen_at)
         values ($1, $2, now(), now(), now() - $3::interval)`,
        values,
      )
    },
    uploaded: async (count) => expect(await rig.uploaded()).toHaveLength(Number(count)),
    reason: async (...words) => expect((await rig.find(ride))?.reason).toContain(words.join(' ')),
    quiet: async (...words) => {
      await rig.steer('POST', 'counts/reset')
      await play(words.join(' '))
      expect((await rig.steer('GET', 'counts')).requests).toEqual({})
    },
    /** Asserts the ledger row of a file: state, attempts, and whether its activity is the first, another or none. */
    is: async (name = '', state, attempts, activity) => {
      const row = await rig.find(FILES[name] ?? ride)
      first ??= row?.activityPath ?? undefined
      const own = row?.activityPath ? (row.activityPath === first ? 'first' : 'another') : 'none'
      expect([row?.state, row?.attempts, own]).toEqual([state, Number(attempts), activity])
    },
  }
  const play = async (step: string): Promise<void> => {
    const [words = '', end] = step.trim().split(' > ')
    const [verb = '', ...rest] = words.split(' ')
    const make = steps[verb]
    if (!make) throw new Error(`no step ${verb}`)
    const ended = await make(...rest).catch((error: unknown) => {
      if (error instanceof TransientError || error instanceof RateLimitedError) return { action: error.code }
      throw error
    })
    if (end) expect([step, ended]).toEqual([step, expect.objectContaining({ action: end })])
    else expect([step, ended]).not.toEqual([step, { action: expect.anything() }])
    // The text of a duplicate names its activity.
    if (end === 'failed' && (await rig.find(ride))?.state === 'duplicate')
      expect(ended).toMatchObject({ text: expect.stringContaining(first ?? '-') })
  }
  return async (text: string) => {
    for (const step of text.split(';')) await play(step)
  }
}

describe('a file', () => {
  it.each([
    // The response is lost after the body was sent.
    [
      'whose response is lost is found by its start, and not sent again',
      'lose-answer ride.fit; sweep; is ride.fit accepted 1 first; import ride.fit > done; fetch; is ride.fit mirrored 1 first; uploaded 1',
    ],
    [
      'whose response is lost is found even if a poll has mirrored its activity',
      'lose-answer ride.fit; known; fetch; sweep; is ride.fit mirrored 1 first',
    ],
    [
      'is not matched with an older activity with the same start',
      'known before; lose-file ride.fit; sweep; is ride.fit unconfirmed 1 none; ahead 16; sweep; import ride.fit > done; is ride.fit accepted 2 first; uploaded 1',
    ],
    [
      'of each of two devices on one ride gets its own activity',
      'lose-answer near.fit; sweep; is near.fit accepted 1 first; lose-answer ride.fit; sweep; is ride.fit accepted 1 first; is near.fit accepted 1 another',
    ],
    [
      'is not matched with another file’s activity, or one nearer to another file',
      'lose-file near.fit; lose-answer ride.fit; sweep; is ride.fit accepted 1 first; is near.fit unconfirmed 1 none; lose-file same.fit; sweep; is same.fit unconfirmed 1 none',
    ],
    [
      'stays unconfirmed with the reason while two activities match',
      'lose-answer ride.fit; twin; sweep; ahead 20; sweep; is ride.fit unconfirmed 1 none; reason twin; reason musette upload --force',
    ],
    [
      'is checked again later if the list cannot be fetched',
      'lose-answer ride.fit; no-list; sweep > rate_limited; is ride.fit unconfirmed 1 none; sweep; is ride.fit unconfirmed 1 none; ahead 1; sweep; is ride.fit accepted 1 first',
    ],
    // The service has the activity from elsewhere.
    [
      'that the service has but the mirror lacks ends mirrored with that activity',
      'elsewhere unknown; import ride.fit > done; daemon; fetch; is ride.fit mirrored 1 first',
    ],
    [
      'that the service has and refuses becomes a duplicate of its activity',
      'elsewhere mirrored; duplicates refuse; import ride.fit > failed; is ride.fit duplicate 1 first; import ride.fit > failed; is ride.fit duplicate 1 first',
    ],
    [
      'whose known activity the service returns becomes a duplicate of that activity',
      'elsewhere mirrored; duplicates same-path; import ride.fit > failed; is ride.fit duplicate 1 first',
    ],
    [
      'keeps its activity if a second attempt is refused because the first arrived',
      'elsewhere unknown; duplicates refuse; fault 429; import ride.fit > wait; ahead 1; import ride.fit > done; is ride.fit accepted 2 first',
    ],
    // It was uploaded.
    [
      'whose mirrored activity vanishes is checked once, and stays',
      'import ride.fit > done; is ride.fit accepted 1 first; fetch; delete; absent; sweep; is ride.fit mirrored 1 first; quiet sweep',
    ],
    [
      'is searched in the list until the service lists it',
      'import ride.fit > done; is ride.fit accepted 1 first; delete; fetch; daemon; is ride.fit accepted 1 first; revive; ahead 10; daemon; is ride.fit mirrored 1 first',
    ],
    [
      'without samples at the service finally counts as mirrored',
      'import ride.fit > done; without-samples; sweep; is ride.fit mirrored 1 first',
    ],
    // It is refused, or has to wait.
    [
      'moves to failed/ with the reason if refused, and is sent again once moved back',
      'fault 413; import ride.fit > failed; is ride.fit refused 1 none; reason 413; import-as-before ride.fit > failed; is ride.fit refused 1 none; import ride.fit > done; is ride.fit accepted 2 first',
    ],
    [
      'waits after a 429 as long as the service asks, without a refusal',
      'fault 429; import ride.fit > wait; is ride.fit seen 1 none; import ride.fit > wait; is ride.fit seen 1 none; ahead 1; import ride.fit > done; uploaded 1',
    ],
  ])('%s', async (_, story) => {
    await openScenario()(story)
  })

  it('starts one fetch of its activity, and none if the service already had it', async () => {
    const woken: number[] = []
    const onWanted = async ({ activityId }: { activityId: number }) => {
      woken.push(activityId)
      throw new Error('the queue is away')
    }
    const deps = { ...rig.deps, onWanted }
    expect(await rig.importFile('ride.fit', ride, { deps })).toEqual({ action: 'done' })
    expect(woken).toEqual([(await rig.find(ride))?.activityId])
    await rig.importFile('again.fit', ride, { deps })
    expect(woken).toHaveLength(1)
  })

  it('with known bytes and another name is reported as a duplicate', async () => {
    await rig.importFile('ride.fit', ride)
    const before = await rig.find(ride)
    const again = await rig.importFile('copy.fit', ride)
    for (const part of [
      'uploaded as "ride.fit"',
      `activity ${before?.activityPath}`,
      'Nothing needs to be done',
      'musette upload --force FILE',
    ])
      expect(again).toMatchObject({ action: 'failed', text: expect.stringContaining(part) })
    expect(await rig.find(ride)).toEqual(before)
    const journey = 'select file_name, state, reason from training.upload_journey order by file_name'
    expect(await rig.rows(journey)).toEqual([
      { file_name: 'copy.fit', state: 'duplicate', reason: 'the same bytes as "ride.fit"' },
      { file_name: 'ride.fit', state: 'accepted', reason: null },
    ])
    expect(await rig.uploaded()).toHaveLength(1)
  })

  it('becomes a duplicate of the first activity if its own second activity vanishes', async () => {
    const play = openScenario()
    await play(
      'elsewhere mirrored; import ride.fit > done; is ride.fit accepted 1 another; daemon; is ride.fit duplicate 1 first',
    )
    const { activityPath: first, reason, nextTryAt } = (await rig.find(ride)) ?? {}
    expect([reason, nextTryAt]).toEqual([expect.stringContaining(String(first)), null])
    const shown = await rig.rows(
      `select a.path, a.absent_since is null as present, u.content_id is not null as stands
       from training.activities a left join training.uploads u using (activity_id) order by 2 desc`,
    )
    expect(shown).toMatchObject([
      { path: first, present: true, stands: true },
      { present: false, stands: false },
    ])
    await play('quiet daemon')
  })
})

/** Makes a FIT activity with one record at each of two times, in FIT seconds, and a session that starts at a third time. */
function makeOddStart(first: number, second: number, start = T0): Buffer {
  const definition = [0x42, 0, 0, 20, 0, 1, 253, 4, 0x86]
  const records = [first, second].flatMap((time) => [...definition, 0x02, ...littleEndian(time)])
  const session = [0x43, 0, 0, 18, 0, 1, 2, 4, 0x86, 0x03, ...littleEndian(start)]
  return wrap([...FILE_ID_ACTIVITY, ...records, ...session])
}

describe('an upload whose response was lost', () => {
  const inRide = Date.UTC(2026, 4, 3, 8, 0, 58) / 1_000 - FIT_EPOCH_S
  it.each<[string, Buffer, number]>([
    ['a minute off the FIT session', ride, inRide],
    ['its first record, far from the session', makeOddStart(T0 - 86_400, T0), T0 - 86_400],
    ['its first record within the session', makeOddStart(T0 - 86_400, T0 + 1_200), T0 + 1_200],
    ['the time since the device was switched on', makeOddStart(5_000, 5_001, 5_000), 5_000],
  ])('is found if the service starts the activity at %s', async (_, bytes, seconds) => {
    const only = await loseAnswer('ride.fit', bytes)
    const started_at = new Date((seconds + FIT_EPOCH_S) * 1_000).toISOString()
    await rig.steer('PATCH', `activities/${only}`, { started_at })
    await rig.sweep()
    expect(await rig.find(bytes)).toMatchObject({ state: 'accepted', attempts: 1, activityPath: only })
  })

  it('is sent again only after the waiting time if the service has no activity', async () => {
    await loseFile('ride.fit', ride)
    for (let minute = 0; minute < 14; minute += 2) {
      await rig.sweep()
      expect(await rig.importFile('ride.fit', ride)).toMatchObject({ action: 'wait' })
      rig.ahead(2 * MINUTE)
    }
    const { requests } = await rig.steer<{ requests: Record<string, number> }>('GET', 'counts')
    expect(requests['GET /oauth/activity']).toBeGreaterThan(3)
    expect(requests['GET /oauth/activity']).toBeLessThan(15)
    expect(await rig.find(ride)).toMatchObject({ state: 'unconfirmed', attempts: 1 })
    rig.ahead(2 * MINUTE)
    await rig.sweep()
    expect(await rig.find(ride)).toMatchObject({ state: 'seen' })
    expect(await rig.importFile('ride.fit', ride)).toEqual({ action: 'done' })
    expect(await rig.find(ride)).toMatchObject({ state: 'accepted', attempts: 2 })
    expect(await rig.uploaded()).toHaveLength(1)
  })
})
