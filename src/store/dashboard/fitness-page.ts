import type { Tx } from '../store.ts'
import type { FitnessNow, LoadColumns, SignatureColumns, TimeColumns, WeekColumns } from './page-rows.ts'

/** Finds an account's fitness from the newest training info (service document, endpoint 3); undefined before the first. */
export async function findFitnessNow(tx: Tx, accountId: number): Promise<FitnessNow | undefined> {
  const { rows } = await tx.client.query<FitnessNow>(
    `select last_seen_at as seen_at, status, weight_kg, ftp, ltp, hie as hie_kj, pp, tl_total, target_total
     from training.training_info where account_id = $1 order by observed_at desc limit 1`,
    [accountId],
  )
  return rows[0]
}

/** Finds an account's signature over time, oldest first, one array a quantity; `at` is seconds since 1970. */
export async function findSignatureColumns(tx: Tx, accountId: number): Promise<SignatureColumns> {
  const names = ['ftp', 'hie_kj', 'pp', 'ltp'] as const
  return await findColumns(tx, {
    names,
    accountId,
    text: `select extract(epoch from at)::float8, ftp, hie_kj, pp, ltp from training.fitness_history
           where account_id = $1 and at is not null order by at`,
  })
}

/** Finds an account's loads and form after each activity, oldest first, one array a quantity; `at` is seconds since 1970. */
export async function findLoadColumns(tx: Tx, accountId: number): Promise<LoadColumns> {
  const names = ['training_load', 'recovery_load', 'form'] as const
  return await findColumns(tx, {
    names,
    accountId,
    text: `select extract(epoch from at)::float8, tl_total, rl_total, form from training.form_history
           where account_id = $1 and at is not null order by at`,
  })
}

/** Runs a query whose first column is the time and whose other columns have the names, and returns its columns. */
async function findColumns<Name extends string>(
  tx: Tx,
  input: { names: readonly Name[]; accountId: number; text: string },
): Promise<TimeColumns<Name>> {
  const { rows } = await tx.client.query<[number, ...Array<number | null>]>({
    text: input.text,
    values: [input.accountId],
    rowMode: 'array',
  })
  const columns = Object.fromEntries(
    input.names.map((name, index) => [name, rows.map((row) => row[index + 1] ?? null)]),
  ) as Record<Name, Array<number | null>>
  return { ...columns, at: rows.map(([at]) => at) }
}

/** Finds an account's weeks from the first activity to today, quiet ones too; `monday` is seconds since 1970, 0:00 UTC. */
export async function findWeekColumns(tx: Tx, accountId: number): Promise<WeekColumns> {
  const { rows } = await tx.client.query<[number, number, number, number, number, number]>({
    text: `select extract(epoch from date_trunc('week', day::timestamp))::float8, sum(activities)::int,
             coalesce(sum(low_xss), 0)::float8, coalesce(sum(high_xss), 0)::float8, coalesce(sum(peak_xss), 0)::float8, coalesce(sum(xss), 0)::float8
           from training.daily_load where account_id = $1 group by 1 order by 1`,
    values: [accountId],
    rowMode: 'array',
  })
  return {
    monday: rows.map(([monday]) => monday),
    activities: rows.map((row) => row[1]),
    low_xss: rows.map((row) => row[2]),
    high_xss: rows.map((row) => row[3]),
    peak_xss: rows.map((row) => row[4]),
    xss: rows.map((row) => row[5]),
  }
}
