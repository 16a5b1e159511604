import type { SampleColumns } from '../../../store/dashboard/page-rows.ts'
import type { ActivityView, Serialized } from '../../dashboard/dashboard-types.ts'
import { announceScheme } from '../charts/axes.ts'
import { find, make, makePlace, refill } from '../dom.ts'
import { fetchJson, follow, type Problem } from '../live.ts'
import { makeActivityCurve } from './activity-curve.ts'
import { makeFacts, makeHeading, makeNotices } from './activity-facts.ts'
import { makeTimeline } from './activity-timeline.ts'

type View = Serialized<ActivityView>

/** An edit and the samples of a new upload show soon; nothing else changes on this page. */
const POLL_EVERY_MS = 5_000

const path = `/api${location.pathname}`
const places = {
  heading: make('div'),
  notices: make('div'),
  facts: make('div'),
  time: make('div'),
  curve: make('div'),
}
const draw = {
  heading: makePlace(places.heading, makeHeading),
  notices: makePlace(places.notices, makeNotices),
  facts: makePlace(places.facts, makeFacts),
  curve: makePlace(places.curve, makeActivityCurve),
}
let samplesOf: string | undefined

announceScheme()
await follow<View>(path, {
  everyMs: POLL_EVERY_MS,
  async onData(view) {
    if (!places.heading.isConnected) find('#main').replaceChildren(...Object.values(places))
    document.title = `${view.facts.name || 'Activity'} · musette`
    draw.heading(view)
    draw.notices(view.facts)
    draw.facts(view.facts)
    const problem = await drawTimeline(view)
    // Last, because it is the lowest: the timeline would push it down while it is read.
    draw.curve(view)
    return problem
  },
})

/** Samples are megabytes, so they are fetched only when the daemon has fetched the activity again. */
async function drawTimeline({ facts }: View): Promise<Problem | undefined> {
  const version = JSON.stringify([facts.fetched_at, facts.sample_count, facts.started_at_local])
  if (version === samplesOf) return undefined
  const answer = facts.sample_count
    ? await fetchJson<Serialized<SampleColumns>>(`${path}/samples`)
    : undefined
  if (answer?.kind === 'problem') return answer.problem
  samplesOf = version
  refill(places.time, ...makeTimeline(facts, answer?.kind === 'data' ? answer.data : undefined))
  return undefined
}
