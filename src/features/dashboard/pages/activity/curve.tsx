import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { formatQuery } from '../../shared/address-query.tsx'
import { COMPARED_S } from '../../shared/charts/axes.ts'
import { Chart } from '../../shared/charts/chart.tsx'
import { makeLine, makePowerSpec } from '../../shared/charts/lanes.ts'
import { formatDay, formatName, formatNumber, formatSpan, formatWallClock } from '../../shared/format.ts'
import { fetchOnce } from '../../shared/live.tsx'
import { FoldedSection, Link, Select } from '../../shared/parts.tsx'
import type { Sent } from '../../shared/sent.ts'
import { type Column, Table } from '../../shared/table.tsx'
import type { ActivityLine } from '../activity-line.ts'
import type { findCompared, View } from './queries.ts'
import { modelOf } from './signature-model.ts'

type Compared = Sent<typeof findCompared>['points'][number]
type Point = { duration_s: number; watts: number; other: Compared | undefined }
type Signature = Pick<View['facts'], 'sig_ftp' | 'sig_atc' | 'sig_pp'>
type Props = Pick<View, 'curve' | 'season' | 'seasons'> & {
  activityId: number
  /** the rider's weight, kg */
  kg: number | null
  signature: Signature
  path: string
}

/** An activity's power curve, compared with the bests of a season or of all time, the signature, or another activity. */
export function Curve({ curve, season, seasons, activityId, kg, signature, path }: Props) {
  const choices: ReadonlyArray<[value: string, text: string]> = [
    ...seasons.map((year): [string, string] => [`season=${year}`, `Best of ${year}`]),
    ['span=all', 'Best of all time'],
    ['span=recent', 'Best of the last 90 days'],
    ...(modelOf(signature, [1]) ? [['signature', 'Signature after this activity'] as [string, string]] : []),
    ['activity', 'Another activity…'],
  ]
  const own = `season=${season}`
  const [choice, setChoice] = useState(choices.some(([value]) => value === own) ? own : 'span=all')
  const [other, setOther] = useState<{ id: number; name: string }>()
  const [compared, setCompared] = useState<{ label: string; points: readonly Compared[] }>()
  useEffect(() => {
    const label = choices.find(([value]) => value === choice)?.[1] ?? ''
    if (choice === 'signature') {
      const durations = curve.map((point) => point.duration_s)
      return setCompared({ label, points: modelOf(signature, durations) ?? [] })
    }
    if (choice === 'activity' && !other) return
    const query = choice === 'activity' ? `activity=${other?.id}` : choice
    let isLeft = false
    void fetchOnce<Sent<typeof findCompared>>(`${path}/compared?${query}`).then((answer) => {
      if (answer && !isLeft)
        setCompared({ label: choice === 'activity' ? (other?.name ?? '') : label, points: answer.points })
    })
    return () => {
      isLeft = true
    }
  }, [choice, other, curve, signature, path])
  return (
    <FoldedSection id="curve-title" title="Power curve">
      <div class="compared">
        <div>
          <label for="compared">Compared with</label>
          <Select id="compared" value={choice} options={choices} onChoose={setChoice} />
        </div>
        {choice === 'activity' && (
          <ActivityChoice own={activityId} onChoose={(id, name) => setOther({ id, name })} />
        )}
      </div>
      {compared && <Comparison curve={curve} activityId={activityId} kg={kg} {...compared} />}
    </FoldedSection>
  )
}

type ComparisonProps = {
  curve: View['curve']
  activityId: number
  kg: number | null
  label: string
  points: readonly Compared[]
}

function Comparison({ curve, activityId, kg, label, points: others }: ComparisonProps) {
  const spec = useMemo(
    () =>
      makePowerSpec(`Power curve of this activity and: ${label}`, [
        makeLine('best', label, 'W', 'best', { look: 'dashed' }),
        makeLine('activity', 'This activity', 'W', 'power'),
      ]),
    [label],
  )
  // Leave out durations longer than this activity, because there is nothing to compare.
  const points = useMemo(() => {
    const byDuration = new Map(others.map((point) => [point.duration_s, point]))
    return curve.map((point): Point => ({ ...point, other: byDuration.get(point.duration_s) }))
  }, [curve, others])
  const columns = useMemo(() => {
    const best = points.map(({ other }) => other?.watts ?? null)
    const lines = { best, activity: points.map(({ watts }) => watts) }
    return { x: points.map((point) => point.duration_s), lines }
  }, [points])
  const compared = points.filter((point) => COMPARED_S.includes(point.duration_s))
  return (
    <>
      <Chart spec={spec} columns={columns}>
        {describe(compared, label)}
      </Chart>
      <Table
        caption="Best mean power; pauses count as zero watts"
        columns={columnsFor({ activityId, kg, label })}
        rows={compared}
        narrow
      />
    </>
  )
}

function columnsFor(of: { activityId: number; kg: number | null; label: string }): readonly Column<Point>[] {
  const { activityId, kg, label } = of
  const perKg: Column<Point> = {
    title: 'W/kg',
    spare: true,
    number: true,
    cell: ({ watts }) => (kg === null || kg <= 0 ? '–' : formatNumber(watts / kg, '', 2)),
  }
  return [
    { title: 'Duration', names: 'duration_s', cell: (point) => formatSpan(point.duration_s) },
    { title: 'This activity', number: true, cell: (point) => formatNumber(point.watts, 'W') },
    ...(kg === null ? [] : [perKg]),
    { title: label, number: true, cell: ({ other }) => formatNumber(other?.watts, 'W') },
    { title: 'Share', number: true, cell: (point) => formatNumber(shareOf(point), '%') },
    {
      title: 'On',
      spare: true,
      cell({ other }) {
        if (!other || other.activity_id === null || other.day === null) return ''
        if (other.activity_id === activityId) return 'this activity'
        return <Link to={`/activities/${other.activity_id}`}>{formatDay(other.day)}</Link>
      },
    },
  ]
}

function describe(compared: readonly Point[], label: string): string {
  if (label.startsWith('Signature'))
    return 'The power that the signature predicts: FTP + HIE / (t + HIE / (peak power − FTP)), t in seconds, HIE in joules.'
  const bests = compared
    .filter((point) => (shareOf(point) ?? 0) >= 100)
    .map((point) => formatSpan(point.duration_s))
  if (bests.length === 0) return `Below “${label}” at every duration in the table.`
  return `At least as high as “${label}” over ${bests.join(', ')}.`
}

function shareOf({ watts, other }: Point): number | null {
  // Rounds down, because one watt less than the best is not 100 %.
  return other === undefined || other.watts === 0 ? null : Math.floor((watts / other.watts) * 100)
}

type Found = Sent<() => { lines: ActivityLine[] }>
type ChoiceProps = {
  /** the shown activity, which is not among the choices */
  own: number
  onChoose: (activityId: number, name: string) => void
}

/** Maximum number of listed activities; another search word finds the others. */
const SHOWN = 8
/** How long typing must pause before a search, ms, so that each letter does not start a search. */
const TYPING_MS = 200

/** A search for another activity with power. */
function ActivityChoice({ own, onChoose }: ChoiceProps) {
  const field = useRef<HTMLInputElement>(null)
  const [words, setWords] = useState('')
  const [found, setFound] = useState<Found['lines']>()
  useEffect(() => field.current?.focus(), [])
  useEffect(() => {
    let isLeft = false
    const load = async () => {
      const query = formatQuery({ power: 'yes', limit: SHOWN + 1, search: words.trim() })
      const answer = await fetchOnce<Found>(`/api/activities/list${query}`)
      if (answer && !isLeft) setFound(answer.lines.filter((line) => line.activity_id !== own).slice(0, SHOWN))
    }
    const timer = setTimeout(load, words ? TYPING_MS : 0)
    return () => {
      isLeft = true
      clearTimeout(timer)
    }
  }, [words, own])
  return (
    <div class="other-activity">
      <label for="other-activity">Search in names and descriptions</label>
      <input
        type="search"
        id="other-activity"
        ref={field}
        autocomplete="off"
        maxlength={200}
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
      />
      <div class="choice" role="group" aria-label="Activities found">
        {found?.map(({ activity_id: id, name, started_at_local: start }) => (
          <button key={id} type="button" onClick={() => onChoose(id, formatName(name))}>
            {formatName(name)}, {formatWallClock(start)}
          </button>
        ))}
        {found?.length === 0 && 'No activity with power found.'}
      </div>
    </div>
  )
}
