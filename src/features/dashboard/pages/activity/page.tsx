import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Range } from '../../shared/charts/lanes.ts'
import { nameOr } from '../../shared/format.ts'
import { showPage } from '../../shared/frame.tsx'
import { fetchJson, useLive } from '../../shared/live.tsx'
import { Section, Waiting } from '../../shared/parts.tsx'
import { ROOT } from '../../shared/root.ts'
import './activity.css'
import { Curve } from './curve.tsx'
import { Downloads, FactsList, Heading, StateNotice } from './facts.tsx'
import type { View } from './queries.ts'
import { Revisions } from './revisions.tsx'
import { RouteMap } from './route-map.tsx'
import { type Samples, summarize } from './summarize.ts'
import { Timeline } from './timeline.tsx'
import { Laps, SameRoute, Zones } from './zones-and-laps.tsx'

/** Poll interval, ms: only an edit, or the samples of a new upload, change this page. */
const POLL_EVERY_MS = 5_000

const path = `/api${location.pathname.slice(ROOT.length)}`

showPage(<Activity />)

function Activity() {
  const { view, recorded } = useActivity()
  const samples = recorded?.samples
  const summary = useMemo(() => samples && summarize(samples), [samples])
  const name = view?.facts.name
  useEffect(() => {
    if (view) document.title = `${nameOr(name ?? null, 'Activity')} · musette`
  }, [view && name])
  if (!view) return <Waiting />
  const { facts, resync_command: command } = view
  return (
    <>
      <Heading view={view} />
      <StateNotice facts={facts} command={command} />
      {/* The other parts wait for the samples, which would push them down. */}
      {recorded ? (
        <>
          <FactsList facts={facts} measures={view.measures} summary={summary} />
          <Downloads view={view} />
          <Recording view={view} samples={samples} />
          <Rest view={view} />
        </>
      ) : (
        <Waiting />
      )}
    </>
  )
}

/**
 * Returns the content of the page, and its samples once they arrive. Samples are megabytes, so the page fetches them again only after the
 * daemon has fetched the activity again.
 */
function useActivity() {
  const [recorded, setRecorded] = useState<{ version: string; samples: Samples | undefined }>()
  const last = useRef(recorded)
  last.current = recorded
  const view = useLive<View>(path, POLL_EVERY_MS, async ({ facts, samples_path: samplesPath }) => {
    const version = JSON.stringify([facts.fetched_at, facts.sample_count, facts.started_at_local])
    if (version === last.current?.version) return undefined
    if (samplesPath === null) return setRecorded({ version, samples: undefined })
    const answer = await fetchJson<Samples>(samplesPath)
    if (answer.kind === 'problem') return answer.problem
    if (answer.kind === 'data')
      setRecorded({ version, samples: answer.data.elapsed_s.length > 0 ? answer.data : undefined })
    return undefined
  })
  return { view, recorded }
}

/** The parts that show the recorded seconds: route, charts and laps, which share a selected section and a pointed sample. */
function Recording({ view, samples }: { view: View; samples: Samples | undefined }) {
  const [pointed, setPointed] = useState<number>()
  const [range, setRange] = useState<Range>()
  const laps = useMemo(() => <Laps laps={view.laps} onChoose={setRange} />, [view.laps])
  if (!samples)
    return (
      <>
        <Section id="time-title" title="Over time">
          <p>This activity has no samples to plot.</p>
        </Section>
        {laps}
      </>
    )
  const shared = { samples, pointed, range, onPoint: setPointed }
  return (
    <>
      <RouteMap {...shared} tiles={view.map_tiles} />
      <Timeline {...shared} facts={view.facts} path={path} onRange={setRange} />
      {laps}
    </>
  )
}

function Rest({ view }: { view: View }) {
  const { curve, season, seasons, facts } = view
  const { activity_id, weight_kg, sig_ftp, sig_atc, sig_pp } = facts
  const signature = useMemo(() => ({ sig_ftp, sig_atc, sig_pp }), [sig_ftp, sig_atc, sig_pp])
  return (
    <>
      <SameRoute {...view} />
      <Zones zones={view.zones} />
      {curve.length > 0 && (
        <Curve {...{ curve, season, seasons, signature, path }} activityId={activity_id} kg={weight_kg} />
      )}
      <Revisions revisions={view.revisions} />
    </>
  )
}
