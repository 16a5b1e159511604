import type { SampleColumns } from '../../../store/dashboard/page-rows.ts'
import type { ActivityView, Serialized } from '../../dashboard/dashboard-types.ts'
import { announceScheme } from '../charts/axes.ts'
import { find, make, makePlace, ROOT, refill } from '../dom.ts'
import { fetchJson, follow, type Problem } from '../live.ts'
import { type CurveView, makeActivityCurve } from './activity-curve.ts'
import { makeDownloads, makeFacts, makeHeading, makeNotices } from './activity-facts.ts'
import { makeTimeline, type Timeline } from './activity-timeline.ts'
import { makeRevisions } from './revisions.ts'
import { makeRouteMap } from './route-map.ts'
import { type Summary, summarize } from './stretch-summary.ts'
import { makeLaps, makeZones } from './zones-and-laps.ts'

type View = Serialized<ActivityView>

/** An edit and the samples of a new upload show soon; nothing else changes on this page. */
const POLL_EVERY_MS = 5_000

const path = `/api${location.pathname.slice(ROOT.length)}`
const places = {
  heading: make('div'),
  notices: make('div'),
  facts: make('div'),
  downloads: make('div'),
  route: make('div'),
  time: make('div'),
  laps: make('div'),
  zones: make('div'),
  curve: make('div'),
  revisions: make('div'),
}
let timeline: Timeline | undefined
let summary: Summary | undefined
let samplesOf: string | undefined

const draw = {
  heading: makePlace(places.heading, makeHeading),
  notices: makePlace(places.notices, makeNotices),
  facts: makePlace(places.facts, (shown: { facts: View['facts']; summary: Summary | undefined }) =>
    makeFacts(shown.facts, shown.summary),
  ),
  downloads: makePlace(places.downloads, makeDownloads),
  laps: makePlace(places.laps, (laps: View['laps']) => makeLaps(laps, (range) => timeline?.choose(range))),
  zones: makePlace(places.zones, makeZones),
  curve: makePlace(places.curve, (shown: CurveView) => makeActivityCurve(shown, path)),
  revisions: makePlace(places.revisions, makeRevisions),
}

announceScheme()
await follow<View>(path, {
  everyMs: POLL_EVERY_MS,
  async onData(view) {
    if (!places.heading.isConnected) find('#main').replaceChildren(...Object.values(places))
    document.title = `${view.facts.name || 'Activity'} · musette`
    draw.heading(view)
    draw.notices({ facts: view.facts, command: view.resync_command })
    draw.facts({ facts: view.facts, summary })
    draw.downloads(view.facts)
    const problem = await drawSamples(view)
    draw.facts({ facts: view.facts, summary })
    // Last, because they are the lowest: the timeline would push them down while they are read.
    draw.laps(view.laps)
    draw.zones(view.zones)
    const { curve, season, seasons } = view
    const { activity_id, weight_kg, sig_ftp, sig_atc, sig_pp } = view.facts
    draw.curve({ curve, season, seasons, facts: { activity_id, weight_kg, sig_ftp, sig_atc, sig_pp } })
    draw.revisions(view.revisions)
    return problem
  },
})

/** Samples are megabytes, so they are fetched only when the daemon has fetched the activity again. */
async function drawSamples({ facts, map_tiles: tiles }: View): Promise<Problem | undefined> {
  const version = JSON.stringify([facts.fetched_at, facts.sample_count, facts.started_at_local])
  if (version === samplesOf) return undefined
  const answer = facts.sample_count
    ? await fetchJson<Serialized<SampleColumns>>(`${path}/samples`)
    : undefined
  if (answer?.kind === 'problem') return answer.problem
  samplesOf = version
  const samples = answer?.kind === 'data' ? answer.data : undefined
  summary = samples && samples.elapsed_s.length > 0 ? summarize(samples) : undefined
  const map = makeRouteMap(samples, tiles, (index) => drawn.point(index))
  const drawn = makeTimeline(facts, samples, path, {
    onPoint: (index) => map.point(index),
    onStretch: (range) => map.mark(range),
  })
  timeline = drawn
  refill(places.route, ...map.children)
  refill(places.time, ...drawn.children)
  return undefined
}
