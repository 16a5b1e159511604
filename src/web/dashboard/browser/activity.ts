import type { ActivityView, SampleColumns, Told } from '../views.ts'
import { makeCurve } from './activity/curve.ts'
import { makeFacts, makeHeading, makeNotices } from './activity/facts.ts'
import { makeTimeline } from './activity/timeline.ts'
import { ask, type Problem } from './ask.ts'
import { announceScheme } from './charts/theme.ts'
import { find, make, makePlace, refill } from './dom.ts'
import { follow } from './follow.ts'

type View = Told<ActivityView>

/** An edit or the samples of a fresh upload show soon; nothing else moves on this page. */
const ASK_EVERY_MS = 5_000

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
  curve: makePlace(places.curve, makeCurve),
}
let samplesOf: string | undefined

announceScheme()
await follow<View>(path, {
  everyMs: ASK_EVERY_MS,
  async onData(view) {
    if (!places.heading.isConnected) find('#main').replaceChildren(...Object.values(places))
    document.title = `${view.facts.name || 'Activity'} · musette`
    draw.heading(view)
    draw.notices(view.facts)
    draw.facts(view.facts)
    const problem = await drawTimeline(view)
    // Last, because it stands last: what comes in between would push it down while it is read.
    draw.curve(view)
    return problem
  },
})

/** Samples are megabytes, so they are asked for only when the activity was fetched again. */
async function drawTimeline({ facts }: View): Promise<Problem | undefined> {
  const version = JSON.stringify([facts.fetched_at, facts.sample_count, facts.started_at_local])
  if (version === samplesOf) return undefined
  const answer = facts.sample_count ? await ask<Told<SampleColumns>>(`${path}/samples`) : undefined
  if (answer?.kind === 'problem') return answer.problem
  samplesOf = version
  refill(places.time, ...makeTimeline(facts, answer?.kind === 'data' ? answer.data : undefined))
  return undefined
}
