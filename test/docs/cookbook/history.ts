import type pg from 'pg'
import type { Logger } from 'pino'
import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { type App, openApp } from '../../../src/program/app/app.ts'
import { signInWithPassword } from '../../../src/program/app/sign-in.ts'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { makeFitFile } from '../../../src/sandbox/fit-file.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { readConfig } from '../../kit/config.ts'
import { connect } from '../../kit/connect.ts'
import { steer } from '../../kit/steer.ts'
import { uploadBytes } from '../../kit/upload-bytes.ts'

/** Where the rider lives. */
const ZONE = { style: 3, name: 'America/Toronto' }

/** The rides of June besides the history of the seed: four weeks, the last one the hardest. */
const RIDES: readonly object[] = [
  ride('2025-06-03T21:30:00Z', 'intervals', 3_600, 'Tuesday intervals'),
  ride('2025-06-05T21:45:00Z', 'tempo', 4_500, 'Sweet spot', { indoor: true }),
  ride('2025-06-07T12:10:00Z', 'endurance', 9_600, 'Long Saturday'),
  ride('2025-06-10T21:30:00Z', 'sprints', 3_300, 'Town sign sprints'),
  ride('2025-06-14T12:00:00Z', 'endurance', 11_400, 'Long Saturday'),
  ride('2025-06-17T21:30:00Z', 'intervals', 3_900, 'Tuesday intervals'),
  ride('2025-06-19T21:40:00Z', 'tempo', 4_800, 'Sweet spot', { indoor: true }),
  ride('2025-06-21T12:20:00Z', 'endurance', 10_200, 'Long Saturday'),
  ride('2025-06-24T21:30:00Z', 'intervals', 4_200, 'Hill repeats'),
  ride('2025-06-25T21:30:00Z', 'recovery', 2_700, 'Coffee ride'),
  ride('2025-06-26T21:40:00Z', 'tempo', 5_100, 'Sweet spot', { indoor: true }),
  ride('2025-06-28T12:00:00Z', 'endurance', 13_500, 'Long Saturday'),
  ride('2025-06-29T18:00:00Z', 'race', 5_400, 'Club race'),
]

function ride(startedAt: string, kind: string, seconds: number, name: string, more: object = {}): object {
  const path = `june${startedAt.slice(0, 10).replaceAll('-', '')}`
  return { path, name, started_at: startedAt, seconds, kind, zone: ZONE, ...more }
}

/** The moment at which every question of the cookbook is asked: a Tuesday evening. */
export const NOW = new Date('2025-07-01T20:00:00Z')

/** An account, and the stand-in service that its history comes from: `activities` are those before the rides of June. */
export type Rider = { account: string; seed: number; activities: number }

/** With this seed the rider weighs 72 kg and has an FTP of about 256 W; so many activities are mirrored in seconds. */
const RIDER: Rider = { account: 'default', seed: 3, activities: 110 }

const LOGIN = { username: 'rider', password: 'rider', keepPassword: false }
/** Less than the minute from the upload to the pass that fetches it. */
const SAMPLE_DELAY_MS = 40_000

/**
 * Mirrors the stand-in service into a migrated database, for a rider always the same history: three years of rides, a file that was
 * uploaded, a recalculation, a ride that waits for its samples and one whose answer cannot be used. From then on the
 * views of that database take `NOW` for the present moment.
 */
export async function mirrorHistory(
  log: Logger,
  place: { databaseUrl: string; dataDir: string },
  rider = RIDER,
): Promise<void> {
  const release = makeReleaseStack()
  const clock = { now: new Date('2025-06-30T12:00:00Z') }
  try {
    const now = () => clock.now
    const sandbox = await startSandbox({
      activities: rider.activities,
      seed: rider.seed,
      sampleDelayMs: SAMPLE_DELAY_MS,
      now,
    })
    release.defer('sandbox', () => sandbox.close())
    const opened = await openApp(configOf(sandbox.url, place), log, { features: [] })
    release.defer('app', () => opened.close())
    const order: Steer = (method, path, body) => steer(sandbox.url, method, path, body)
    await live(stopped(opened, now), { name: rider.account, clock, order })
  } finally {
    await release.release()
  }
  await stopClock(place.databaseUrl, NOW)
}

type Steer = (method: string, path: string, body?: object) => Promise<void>

/** The App by another clock; the service's client stamps training info by the machine's. */
function stopped(app: App, now: () => Date): App {
  const { serviceOf } = app.mirror
  return {
    ...app,
    mirror: {
      ...app.mirror,
      now,
      serviceOf(account) {
        const service = serviceOf(account)
        return {
          ...service,
          fetchTrainingInfo: async (input, signal) => ({
            ...(await service.fetchTrainingInfo(input, signal)),
            requestedAt: now(),
          }),
        }
      },
    },
  }
}

/** Two days of a mirror, Monday noon to Tuesday evening. */
async function live(
  app: App,
  { name, clock, order }: { name: string; clock: { now: Date }; order: Steer },
): Promise<void> {
  const sync = () => syncAccount(app, { name, training: true })
  for (const ride of RIDES) await order('POST', 'activities', ride)
  await signInWithPassword(app, { name, ...LOGIN })
  await sync()

  clock.now = new Date('2025-06-30T22:10:00Z')
  await uploadBytes(app, {
    account: name,
    path: 'evening-tempo.fit',
    bytes: Buffer.from(makeFitFile({ startedAt: new Date('2025-06-30T21:00:00Z'), seconds: 3_900, seed: 5 })),
    name: 'Evening tempo',
    signal: AbortSignal.timeout(60_000),
  })
  clock.now = new Date('2025-06-30T22:11:00Z')
  await sync()

  clock.now = new Date('2025-07-01T06:00:00Z')
  await order('POST', 'recalculate')
  await sync()

  clock.now = NOW
  await order('POST', 'activities', {
    path: 'ridesamplescome',
    name: 'Just home',
    started_at: '2025-07-01T18:40:00Z',
    seconds: 4_200,
    zone: ZONE,
    sample_delay_ms: 600_000,
  })
  await order('POST', 'activities', {
    path: 'rideanswerbroken',
    name: 'Lunch spin',
    started_at: '2025-07-01T16:00:00Z',
    seconds: 2_400,
    zone: ZONE,
  })
  await order('PATCH', 'activities/rideanswerbroken', { broken: 'cut' })
  await syncAccount(app, { name, training: true, full: true })
}

function configOf(baseUrl: string, place: { databaseUrl: string; dataDir: string }) {
  return readConfig({
    MUSETTE_BASE_URL: baseUrl,
    DATABASE_URL: place.databaseUrl,
    MUSETTE_DATA_DIR: place.dataDir,
    // One for all: the folder of the first history is gone when another one is mirrored beside it.
    MUSETTE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    MUSETTE_REQUESTS_PER_MINUTE: '100000',
  })
}

/**
 * Writes `at` into the views of a database in the place of `now()`, so that the same history gives the same answers on any
 * day.
 */
async function stopClock(databaseUrl: string, at: Date): Promise<void> {
  const client = await connect(databaseUrl)
  try {
    await setClock(client, at)
  } finally {
    await client.end()
  }
}

/** Makes the views of schema training take `at` for the present moment, also where they take another one already. */
export async function setClock(client: pg.Client, at: Date): Promise<void> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select format('%I.%I', schemaname, viewname) as name, definition
     from pg_views where schemaname = 'training' order by viewname`,
  )
  for (const { name, definition } of rows) {
    const changed = definition.replaceAll(PRESENT, `'${at.toISOString()}'::timestamptz`)
    if (changed !== definition) await client.query(`create or replace view ${name} as ${changed}`)
  }
}

const PRESENT = /now\(\)|'\d{4}-[^']*'::timestamp with time zone/g
