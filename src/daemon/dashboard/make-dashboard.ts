import type { App } from '../../app/app.ts'
import { SECOND } from '../../kit/time.ts'
import { findActivityPage } from '../../store/dashboard/activity-list.ts'
import { findActivityFacts } from '../../store/dashboard/activity-page.ts'
import { findSampleColumns, findSampleField } from '../../store/dashboard/plot-columns.ts'
import type { DashboardDeps } from '../../web/dashboard/dashboard-types.ts'
import { makeCachedProbe } from '../cached-probe.ts'
import { findActivity, findCompared } from './activity-view.ts'
import { findActivityCalendar } from './calendar-view.ts'
import { openDownload } from './download.ts'
import { findFitness } from './fitness-view.ts'
import { findRuns } from './runs-view.ts'
import { makeFindToday } from './today-view.ts'
import { findWorkoutFile } from './workout-file.ts'

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
    findActivity: (input) => findActivity(app, input),
    findSamples: ({ activityId }) =>
      store.read(async (tx) =>
        (await findActivityFacts(tx, activityId)) ? findSampleColumns(tx, activityId) : undefined,
      ),
    findSampleField: (input) => store.read((tx) => findSampleField(tx, input)),
    findCompared: (input) => findCompared(app, input),
    openDownload: (input) => openDownload(app, input),
    findFitness: (input) => findFitness(app, input),
  }
}
