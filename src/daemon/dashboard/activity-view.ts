import type { App } from '../../app/app.ts'
import { findActivityFacts, findCurve, findNeighbours } from '../../store/dashboard/activity-page.ts'
import type { ActivityView } from '../../web/dashboard/dashboard-types.ts'

/** Finds the content of an activity's page, but its samples; undefined when there is no such activity. */
export async function findActivity(
  { store }: Pick<App, 'store'>,
  { activityId }: { activityId: number },
): Promise<ActivityView | undefined> {
  return await store.read(async (tx) => {
    const facts = await findActivityFacts(tx, activityId)
    if (!facts) return undefined
    const season = facts.started_at_local === null ? null : Number(facts.started_at_local.slice(0, 4))
    const curve = await findCurve(tx, { activityId, accountId: facts.account_id, season })
    return { facts, season, curve, ...(await findNeighbours(tx, activityId)) }
  })
}
