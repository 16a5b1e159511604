import type { Json } from '../schema/schemas.ts'
import type { Tx } from '../store.ts'

/** Enough answers of one kind to see every field. */
const MOST = 100

/** Finds answers and parts of answers that are kept as the service sent them, with their endpoint in the service document. */
export async function findStoredAnswers(tx: Tx, accountId: number) {
  const { rows } = await tx.client.query<{ endpoint: string; answer: Json }>(
    `(select 'training_info' as endpoint, raw as answer from training.training_info
      where account_id = $1 and raw is not null order by observed_at desc limit ${MOST})
     union all
     (select case when account_id is null then 'workout' else 'workouts' end, raw from training.workouts
      where (account_id = $1 or account_id is null) and raw is not null limit ${MOST})
     union all
     (select 'workout/<path>', raw from training.workout_definitions where account_id = $1 and raw is not null limit ${MOST})`,
    [accountId],
  )
  return rows
}
