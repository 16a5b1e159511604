import type { App } from '../../app/app.ts'
import { commandFor } from '../../kit/errors.ts'
import { findAccounts } from '../../store/account-rows.ts'
import {
  findActivityFacts,
  findBestsOfSpan,
  findCurve,
  findLaps,
  findNeighbours,
  findRevisions,
  findSeasons,
  findZones,
} from '../../store/dashboard/activity-page.ts'
import type { ComparedPoint } from '../../store/dashboard/page-rows.ts'
import type { ActivityView, Compared } from '../../web/dashboard/dashboard-types.ts'

/** Finds the content of an activity's page, but its samples; undefined when there is no such activity. */
export async function findActivity(
  { store, config }: Pick<App, 'store' | 'config'>,
  { activityId }: { activityId: number },
): Promise<ActivityView | undefined> {
  return await store.read(async (tx) => {
    const facts = await findActivityFacts(tx, activityId)
    if (!facts) return undefined
    const { account_id: accountId } = facts
    return {
      facts,
      season: facts.started_at_local === null ? null : Number(facts.started_at_local.slice(0, 4)),
      seasons: await findSeasons(tx, accountId),
      curve: await findCurve(tx, activityId),
      zones: (await findZones(tx, { accountId, activityId })) ?? null,
      laps: await findLaps(tx, { accountId, activityId }),
      revisions: await findRevisions(tx, activityId),
      map_tiles: config.http?.mapTiles ?? null,
      several: (await findAccounts(tx)).length > 1,
      resync_command: `${commandFor('resync', facts.account)} ${facts.path}`,
      ...(await findNeighbours(tx, activityId)),
    }
  })
}

/** Finds what the power curve of an activity is compared with; undefined when there is no such activity. */
export async function findCompared(
  { store }: Pick<App, 'store'>,
  { activityId, compared }: { activityId: number; compared: Compared },
): Promise<{ points: ComparedPoint[] } | undefined> {
  return await store.read(async (tx) => {
    const facts = await findActivityFacts(tx, activityId)
    if (!facts) return undefined
    if (compared.span !== 'activity') {
      const season = compared.span === 'season' ? compared.season : null
      return {
        points: await findBestsOfSpan(tx, { accountId: facts.account_id, span: compared.span, season }),
      }
    }
    const other = await findActivityFacts(tx, compared.other)
    if (!other) return undefined
    const curve = await findCurve(tx, compared.other)
    const day = other.started_at_local?.slice(0, 10) ?? null
    return { points: curve.map((point) => ({ ...point, activity_id: compared.other, day })) }
  })
}
