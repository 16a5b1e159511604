import type { App } from '../../app/app.ts'
import { SECOND } from '../../kit/time.ts'
import { findActivityPage } from '../../store/dashboard/activity-list.ts'
import { findActivityFacts, findSampleColumns } from '../../store/dashboard/activity-page.ts'
import { findActivityLines } from '../../store/dashboard/overview-page.ts'
import type { DashboardDeps } from '../../web/dashboard/dashboard-types.ts'
import { makeCachedProbe } from '../cached-probe.ts'
import { findActivity } from './activity-view.ts'
import { findActivityCalendar } from './calendar-view.ts'
import { findFitness } from './fitness-view.ts'
import { findRuns } from './runs-view.ts'
import { makeFindToday } from './today-view.ts'
import { findWorkoutFile } from './workout-file.ts'

/** How many older activities the first page requests at a time. */
const OLDER_SHOWN = 30
/** The pages that fetch every few seconds are cached, so that several open ones cost the database as much as one. */
const KEEP_MS = 1 * SECOND

/** Makes the views of the dashboard from the store. */
export function makeDashboard(app: Pick<App, 'config' | 'store'>): DashboardDeps {
  const { store } = app
  return {
    findToday: makeFindToday(app),
    findWorkoutFile: (input) => findWorkoutFile(app, input),
    findRuns: makeCachedProbe(() => findRuns(app), { keepMs: KEEP_MS }),
    findActivityPage: (query) => store.read((tx) => findActivityPage(tx, query)),
    findActivityCalendar: (query) => findActivityCalendar(app, query),
    findOlderActivities: ({ than }) =>
      store.read((tx) => findActivityLines(tx, { limit: OLDER_SHOWN, than })),
    findActivity: (input) => findActivity(app, input),
    findSamples: ({ activityId }) =>
      store.read(async (tx) =>
        (await findActivityFacts(tx, activityId)) ? findSampleColumns(tx, activityId) : undefined,
      ),
    findFitness: (input) => findFitness(app, input),
  }
}
