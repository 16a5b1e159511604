import type { ComponentChildren } from 'preact'
import {
  formatDay,
  formatDistance,
  formatNumber,
  formatPerKg,
  formatSpan,
  nameOr,
  note,
} from '../../shared/format.ts'
import { Link, Numbers } from '../../shared/parts.tsx'
import { type Column, Table } from '../../shared/table.tsx'
import { Profile, Sparkline, WeekBars } from './drawings.tsx'
import type { View } from './queries.ts'
import { describeRecommended } from './sentences.ts'

type Today = NonNullable<View['today']>
type WeekDay = Today['week'][number]
type Step = NonNullable<Today['workout']>['profile'][number]
type Saved = Today['workouts'][number]
type Props = { today: Today }

/** The cards of the day: form, signature, week and workout. */
export function Day({ today }: Props) {
  if (today.fitness === null && today.ftp_trend.length === 0)
    return (
      <p class="quiet">
        Form, signature and workout appear here with the first training info. The daemon will fetch it; to
        fetch it now, run: <code>{today.sync_command}</code>
      </p>
    )
  return (
    <div class="day">
      <Form today={today} />
      <Signature today={today} />
      <Week today={today} />
      <Workout today={today} />
    </div>
  )
}

function Card({ title, name, children }: { title: string; name: string; children: ComponentChildren }) {
  const id = `${name}-card`
  return (
    <section class={`card ${name}`} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  )
}

function Value({ value, note }: { value: string; note?: string }) {
  return (
    <p class="value">
      <strong>{value}</strong> <span class="quiet">{note}</span>
    </p>
  )
}

/**
 * The current freshness, and the form with its two loads: derived for this moment or, if that form is unknown, the values after the last
 * ride.
 */
function Form({ today: { fitness, form, form_today: derived, form_trend: trend } }: Props) {
  const now = fitness?.status ?? null
  const load = fitness?.tl_total ?? null
  const isDerived = derived !== null && derived.form !== null
  const shown = isDerived ? derived : form
  return (
    <Card title="Form" name="form">
      <Value
        value={now ?? form?.freshness ?? '–'}
        note={now !== null && load !== null ? `now, training load ${formatNumber(load, '', 1)}` : ''}
      />
      <Sparkline label="Form after each ride of the last 90 days" points={trend} />
      {form && (
        <>
          <p class="quiet">
            {isDerived
              ? `Now, derived from the service’s values after the ride of ${formatDay(form.day)}:`
              : `${note`Unknown today: ${derived?.reason ?? ''}. `}After the ride of ${formatDay(form.day)}:`}
          </p>
          <Numbers
            numbers={[
              ['Form', formatNumber(shown?.form, '', 1, 'exceptZero')],
              ['Training load', formatNumber(shown?.training_load, '', 1)],
              ['Recovery load', formatNumber(shown?.recovery_load, '', 1)],
            ]}
          />
        </>
      )}
    </Card>
  )
}

function Signature({ today: { fitness, ftp_trend: trend } }: Props) {
  const { ftp, weight_kg: kg, ltp, hie_kj: hie, pp } = fitness ?? {}
  return (
    <Card title="Signature" name="signature">
      <Value value={formatNumber(ftp, 'W')} note={['FTP', formatPerKg(ftp, kg)].filter(Boolean).join(', ')} />
      <Sparkline label="FTP of the last 90 days, W" points={trend} />
      <p class="quiet">{describeTrend(trend)}</p>
      <Numbers
        numbers={[
          ['LTP', formatNumber(ltp, 'W')],
          ['HIE', formatNumber(hie, 'kJ', 1)],
          ['Peak power', formatNumber(pp, 'W')],
        ]}
      />
    </Card>
  )
}

function describeTrend(points: Today['ftp_trend']): string {
  const now = points.at(-1)?.value
  const before = points.findLast(({ days_ago: ago }) => ago >= 42)?.value
  if (now === undefined || before === undefined) return 'There is no FTP from six weeks ago to compare with.'
  const change = now - before
  if (Math.abs(change) < 0.5) return 'Unchanged in six weeks; the line is the FTP of the last 90 days.'
  const sign = change > 0 ? 'up' : 'down'
  return `${formatNumber(Math.abs(change), 'W', 1)} ${sign} in six weeks; the line is the FTP of the last 90 days.`
}

const WEEK: readonly Column<WeekDay>[] = [
  { title: 'Day', names: 'day', cell: ({ day }) => formatDay(day, 'with weekday') },
  { title: 'Done', number: true, cell: ({ xss }) => formatNumber(xss, 'XSS') },
  { title: 'Recommended', number: true, cell: ({ recommended_xss }) => formatNumber(recommended_xss, 'XSS') },
  { title: 'Time', number: true, cell: ({ elapsed_s }) => (elapsed_s > 0 ? formatSpan(elapsed_s) : '') },
  { title: 'Distance', number: true, cell: ({ distance_km: km }) => (km > 0 ? formatDistance(km) : '') },
]

function Week({ today: { week, day } }: Props) {
  const sum = (of: (day: WeekDay) => number) => week.reduce((total, each) => total + of(each), 0)
  return (
    <Card title="This week" name="week">
      <Value value={formatNumber(sum(({ xss }) => xss))} note={describeRecommended(week)} />
      <WeekBars week={week} today={day} />
      <Numbers
        numbers={[
          ['Time', formatNumber(sum(({ elapsed_s }) => elapsed_s) / 3_600, 'h', 1)],
          ['Distance', formatDistance(sum(({ distance_km }) => distance_km))],
          ['Activities', formatNumber(sum(({ activities }) => activities))],
        ]}
      />
      <Table
        folded
        caption="Load of each day; for coming days, today’s recommendation"
        columns={WEEK}
        rows={week}
      />
    </Card>
  )
}

const STEPS: readonly Column<Step>[] = [
  { title: 'From', names: 'from_s', cell: ({ from_s }) => formatSpan(from_s) },
  { title: 'For', number: true, cell: ({ from_s, to_s }) => formatSpan(to_s - from_s) },
  { title: 'Power', number: true, cell: powerOf },
]

function powerOf({ from_watts: from, to_watts: to }: Step): string {
  return from === to ? formatNumber(from, 'W') : `${formatNumber(from)} to ${formatNumber(to, 'W')}`
}

function Workout({ today }: Props) {
  return (
    <Card title="Workout of the day" name="workout">
      <WorkoutOfDay today={today} />
      <SavedWorkouts today={today} />
    </Card>
  )
}

function WorkoutOfDay({ today: { workout, fitness, account_id: id } }: Props) {
  if (workout === null) return <p class="quiet">The service has no workout for today.</p>
  const { profile, formats, difficulty } = workout
  const length = profile.at(-1)?.to_s ?? 0
  const facts = [workout.type, note`difficulty ${formatNumber(difficulty)}`, length > 0 && formatSpan(length)]
  return (
    <>
      <Value value={nameOr(workout.name, 'No name')} />
      <p class="quiet">{facts.filter(Boolean).join(' · ')}</p>
      {profile.length > 0 && <Profile steps={profile} ftp={fitness?.ftp ?? null} />}
      {workout.description && <p class="description">{workout.description}</p>}
      {formats.length > 0 ? (
        <p class="links">
          {formats.map((format) => (
            <Link key={format} to={`/workouts-of-the-day/${id}.${format}`} download="" class="button">
              Download .{format}
            </Link>
          ))}
        </p>
      ) : (
        <p class="quiet">Its file has not been fetched yet.</p>
      )}
      {profile.length > 0 && (
        <Table folded caption="The steps of the workout" columns={STEPS} rows={profile} />
      )}
    </>
  )
}

/** The rider's saved workouts, with download links if a feature makes their files; nothing if there are none. */
function SavedWorkouts({ today: { workouts, workout_formats: formats, account_id: id } }: Props) {
  if (workouts.length === 0) return null
  const files: Column<Saved> = {
    title: 'Files',
    cell: ({ name, path, problem }) =>
      problem ??
      formats.map((format) => (
        <>
          <Link
            key={format}
            to={`/workouts/${id}.${format}?path=${encodeURIComponent(path)}`}
            download=""
            aria-label={`Download ${nameOr(name, path)} as .${format}`}
          >
            .{format}
          </Link>{' '}
        </>
      )),
  }
  return (
    <Table
      folded="Saved workouts"
      caption="Workouts in your own list"
      columns={formats.length > 0 ? [...WORKOUTS, files] : WORKOUTS}
      rows={workouts}
    />
  )
}

const WORKOUTS: readonly Column<Saved>[] = [
  { title: 'Workout', names: 'path', cell: ({ name, path }) => nameOr(name, path) },
  { title: 'Time', number: true, cell: ({ seconds }) => (seconds === null ? '' : formatSpan(seconds)) },
]
