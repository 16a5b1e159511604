import type { FitnessView } from './fitness-views.ts'
import type { ActivityLine, ActivityView, Overview, SampleColumns } from './views.ts'

/** Where the pages' numbers come from. Whatever is thrown by an unreachable database is a TransientError. */
export type DashboardDeps = {
  findOverview(): Promise<Overview>
  /** the activities that started before another one, newest first */
  findOlderActivities(input: { than: number }): Promise<readonly ActivityLine[]>
  /** undefined when there is no such activity */
  findActivity(input: { activityId: number }): Promise<ActivityView | undefined>
  /** undefined when there is no such activity; empty columns when it has no samples */
  findSamples(input: { activityId: number }): Promise<SampleColumns | undefined>
  /** of the first account when none is named; undefined when there is no such account */
  findFitness(input: { accountId?: number | undefined }): Promise<FitnessView | undefined>
}
