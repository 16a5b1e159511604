import { makePartitions } from '../../src/core/store/samples/partitions.ts'
import { openStore } from '../../src/core/store/store.ts'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { replaceSamples } from '../core/store/detail.ts'
import { makeSilentLog } from '../kit/log.ts'
import { makeSamples } from '../kit/samples.ts'
import { median, openSandboxBench, type Row, seconds, timed } from './rig.ts'

const SECONDS = 5_400
/** 10 million samples, or as many million as the variable says. */
const RIDES = Math.round((Number(process.env.PARTITION_MILLIONS ?? 10) * 1e6) / SECONDS)
const PARTS = 10
const ROUNDS = 15

const FILL = `insert into training.activities (account_id, path, listed_at, wanted_at, started_at, sample_count)
    select account_id, 'p' || n, now(), now(), now() - n * interval '1 day', ${SECONDS} from training.accounts, generate_series(1, ${RIDES}) n;
  insert into training.samples (t, lat, lng, activity_id, power, mpa, cad, alt, hr, spd, dist, tws, xds, p_raw, lws, hws, pws)
    select a.started_at + s * interval '1 s', 48 + s * 1e-5, 11, activity_id, s % 300, 900, 90, s % 500, 140, 8, s, 1, 2, s % 310, 3, 4, 5
    from training.activities a cross join lateral generate_series(1, ${SECONDS} + 0 * activity_id) s`

/** Measures reading, rewriting and copying samples in one table, while half of them are moved, and in ten partitions, and the move. */
export async function benchPartitions(release: ReleaseStack): Promise<Row[]> {
  const { databaseUrl, client } = await openSandboxBench(release)
  const store = openStore({ log: makeSilentLog() }, { connectionString: databaseUrl })
  release.defer('store', () => store.close())
  await client.query(FILL)
  await client.query('vacuum analyze')
  const { rows: ids } = await client.query<{ id: number }>(
    'select activity_id as id from training.activities order by 1',
  )
  const idAt = (round: number) => ids[Math.floor((ids.length * (round + 0.5)) / ROUNDS)]?.id ?? 1
  const ride = makeSamples(SECONDS)
  const measure = async () => {
    const each = async (work: (id: number) => Promise<unknown>) => {
      const times: number[] = []
      for (let round = 0; round < ROUNDS; round++) times.push(await timed(() => work(idAt(round))))
      return median(times)
    }
    return {
      'one activity': await each((id) =>
        client.query(`select sum(power) from training.samples where activity_id = ${id}`),
      ),
      'a hundred activities, one by one in a join': await each((id) =>
        client.query(`select max(m) from training.activities a cross join lateral
          (select max(hr) as m from training.samples where activity_id = a.activity_id) s where a.activity_id between ${id} and ${id + 99}`),
      ),
      'an activity rewritten': await each((id) => store.transaction((tx) => replaceSamples(tx, id, ride))),
      'all, as a backup reads them': await timed(() =>
        client.query(`copy (select * from training.samples) to '/dev/null' (format binary)`),
      ),
    }
  }
  const keys = Math.ceil(RIDES / PARTS)
  const partitions = makePartitions({ store, log: makeSilentLog() }, { keys })
  const plain = await measure()
  const begun = await client.query<{ pages: number }>(
    `select pg_relation_size('training.samples')::float8 as pages`,
  )
  let between: typeof plain | undefined
  let moving = 0
  for (let isMore = true; isMore; ) {
    moving += await timed(async () => {
      isMore = await partitions.keep()
    })
    const left = await client.query<{ pages: number }>(
      `select pg_relation_size('training.samples')::float8 as pages`,
    )
    if (isMore && !between && Number(left.rows[0]?.pages) < Number(begun.rows[0]?.pages) / 2)
      between = await measure()
  }
  const cut = await measure()
  return [
    ...Object.entries(plain).map(([what, ms]): Row => {
      const [half, end] = [between, cut].map((some) =>
        (Number(some?.[what as keyof typeof cut]) / ms).toFixed(2),
      )
      return [what, `${ms.toFixed(1)} ms, × ${half}, × ${end}`, 'at most × 1']
    }),
    [`${RIDES * SECONDS} samples moved to ${PARTS} partitions`, seconds(moving)],
  ]
}
