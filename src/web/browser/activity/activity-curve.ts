import type { ComparedPoint } from '../../../store/dashboard/page-rows.ts'
import type { ActivityView, Serialized } from '../../dashboard/dashboard-types.ts'
import { COMPARED_S, makeDurationAxis } from '../charts/axes.ts'
import { makeChart } from '../charts/chart.ts'
import { type Child, make, refill } from '../dom.ts'
import { formatDay, formatNumber, formatSpan } from '../format.ts'
import { fetchJson, showState } from '../live.ts'
import { type Column, makeSection, makeTable } from '../table.ts'
import { makeActivityChoice } from './activity-choice.ts'
import { modelOf } from './signature-model.ts'

/** What of an activity its curve is made of; of the facts nothing that a poll changes, because that would undo the choice. */
export type CurveView = Pick<Serialized<ActivityView>, 'curve' | 'season' | 'seasons'> & {
  facts: Pick<
    Serialized<ActivityView>['facts'],
    'activity_id' | 'weight_kg' | 'sig_ftp' | 'sig_atc' | 'sig_pp'
  >
}
type Compared = Serialized<ComparedPoint>
type Point = { duration_s: number; watts: number; other: Compared | undefined }

/** Makes an activity's power curve beside what one chooses: the best of a season, of all time, the signature, another activity. */
export function makeActivityCurve(view: CurveView, path: string): Child[] {
  const { curve, season, seasons, facts } = view
  if (curve.length === 0) return []
  const shown = make('div')
  const select = make('select', { id: 'compared' })
  const choices: ReadonlyArray<[value: string, text: string]> = [
    ...seasons.map((year): [string, string] => [`season=${year}`, `Best of ${year}`]),
    ['span=all', 'Best of all time'],
    ['span=recent', 'Best of the last 90 days'],
    ...(modelOf(facts, [1]) ? [['signature', 'Signature after this activity'] as [string, string]] : []),
    ['activity', 'Another activity…'],
  ]
  select.append(...choices.map(([value, text]) => make('option', { value }, text)))
  const own = `season=${season}`
  select.value = choices.some(([value]) => value === own) ? own : 'span=all'
  const chooser = makeActivityChoice(facts.activity_id, (id, name) => void load(`activity=${id}`, name))
  const load = async (query: string, label: string) => {
    if (query === 'signature')
      return draw(
        label,
        modelOf(
          facts,
          curve.map((point) => point.duration_s),
        ) ?? [],
      )
    const answer = await fetchJson<{ points: readonly Compared[] }>(`${path}/compared?${query}`)
    if (answer.kind === 'problem') return showState(answer.problem)
    if (answer.kind === 'data') draw(label, answer.data.points)
  }
  const draw = (label: string, points: readonly Compared[]) =>
    refill(shown, ...makeCompared(view, label, points))
  const choose = () => {
    chooser.element.hidden = select.value !== 'activity'
    if (select.value === 'activity') chooser.start()
    else void load(select.value, select.selectedOptions[0]?.text ?? '')
  }
  select.addEventListener('change', choose)
  choose()
  const field = make('div', {}, make('label', { for: 'compared' }, 'Compared with'), select)
  return [
    makeSection(
      'curve-title',
      'Power curve',
      make('div', { class: 'compared' }, field, chooser.element),
      shown,
    ),
  ]
}

function makeCompared({ curve, facts }: CurveView, label: string, others: readonly Compared[]): Child[] {
  const longest = curve.at(-1)?.duration_s ?? 0
  const byDuration = new Map(others.map((point) => [point.duration_s, point]))
  // What others have done for longer than this activity lasted compares with nothing.
  const points: Point[] = curve
    .filter(({ duration_s: duration }) => duration <= longest)
    .map((point) => ({ ...point, other: byDuration.get(point.duration_s) }))
  const chart = makeChart(
    {
      label: `Power curve of this activity and: ${label}`,
      x: makeDurationAxis(),
      lanes: [
        {
          unit: 'W',
          height: 280,
          fromZero: true,
          spanGaps: true,
          lines: [
            { key: 'best', label, unit: 'W', colour: 'best', look: 'dashed' },
            { key: 'activity', label: 'This activity', unit: 'W', colour: 'power', look: 'line' },
          ],
        },
      ],
    },
    {
      x: points.map((point) => point.duration_s),
      lines: {
        best: points.map(({ other }) => other?.watts ?? null),
        activity: points.map(({ watts }) => watts),
      },
    },
  )
  const compared = points.filter((point) => COMPARED_S.includes(point.duration_s))
  return [
    make('figure', {}, chart.element, make('figcaption', {}, describe(compared, label))),
    makeTable('Best mean power; pauses count as zero watts', columnsFor(facts, label), compared),
  ]
}

function columnsFor(facts: CurveView['facts'], label: string): readonly Column<Point>[] {
  const kg = facts.weight_kg
  const perKg: Column<Point> = {
    title: 'W/kg',
    number: true,
    cell: ({ watts }) => (kg === null || kg <= 0 ? '–' : formatNumber(watts / kg, '', 2)),
  }
  return [
    { title: 'Duration', names: true, cell: (point) => formatSpan(point.duration_s) },
    { title: 'This activity', number: true, cell: (point) => formatNumber(point.watts, 'W') },
    ...(kg === null ? [] : [perKg]),
    { title: label, number: true, cell: ({ other }) => formatNumber(other?.watts, 'W') },
    { title: 'Share', number: true, cell: (point) => formatNumber(shareOf(point), '%') },
    {
      title: 'On',
      wide: true,
      cell({ other }) {
        if (!other || other.activity_id === null || other.day === null) return ''
        const isOwn = other.activity_id === facts.activity_id
        return isOwn
          ? 'this activity'
          : make('a', { href: `/activities/${other.activity_id}` }, formatDay(other.day))
      },
    },
  ]
}

function describe(compared: readonly Point[], label: string): string {
  if (label.startsWith('Signature'))
    return 'What the signature says can be held: FTP + HIE / (t + HIE / (peak power − FTP)), t in seconds, HIE in joules.'
  const bests = compared
    .filter((point) => (shareOf(point) ?? 0) >= 100)
    .map((point) => formatSpan(point.duration_s))
  if (bests.length === 0) return `Below “${label}” at all the durations of the table.`
  return `As high as “${label}”, or higher, over ${bests.join(', ')}.`
}

function shareOf({ watts, other }: Point): number | null {
  // Rounded down: a watt short of the best is not the best.
  return other === undefined || other.watts === 0 ? null : Math.floor((watts / other.watts) * 100)
}
