import { useMemo, useState } from 'preact/hooks'
import { AccountChoice, readAccount } from '../../shared/account-choice.tsx'
import { formatQuery, useAddress } from '../../shared/address-query.tsx'
import { FirstSteps } from '../../shared/first-steps.tsx'
import { capitalize, formatDay, formatNumber } from '../../shared/format.ts'
import { showPage } from '../../shared/frame.tsx'
import { useLive } from '../../shared/live.tsx'
import { ActivityLink, Select, Waiting } from '../../shared/parts.tsx'
import { type Pen, WorldMap } from '../../shared/world-map.tsx'
import { decodeTrack, homeOf } from '../../shared/world-places.ts'
import type { View } from './queries.ts'

/** A new ride comes with a poll. While tracks are made, each answer has more. */
const [POLL_EVERY_MS, DRAWING_MS] = [60_000, 300]
const KEYS = ['account', 'year', 'sport'] as const
/** A pointer hits what is nearer than half of this, px. */
const REACH_PX = 16
/** Activities that are named at a place. */
const NAMED = 5

showPage(<ActivityMap />)

function ActivityMap() {
  const [chosen, choose] = useAddress(KEYS)
  const { year = '', sport = '' } = chosen
  const [isDrawing, setDrawing] = useState(true)
  const path = `/api/map${formatQuery({ account: readAccount() })}`
  const everyMs = isDrawing ? DRAWING_MS : POLL_EVERY_MS
  const view = useLive<View>(path, everyMs, (data) => setDrawing(data.is_drawing))
  const all = useMemo(
    () => view?.tracks.map(({ track, ...line }) => ({ ...line, points: decodeTrack(track) })) ?? [],
    [view?.tracks],
  )
  const lines = useMemo(
    () => all.filter((line) => (line.day ?? '').startsWith(year) && line.sport.startsWith(sport)),
    [all, year, sport],
  )
  const home = useMemo(() => homeOf(all.flatMap(({ points }) => points)), [all])
  const [found, setFound] = useState<typeof lines>([])
  if (!view) return <Waiting />
  if (view.account_id === null) return <FirstSteps />
  const trace = ({ at }: Pen, points: (typeof lines)[number]['points']) => {
    const path = new Path2D()
    for (const point of points) path.lineTo(...at(point))
    return path
  }
  const draw = (pen: Pen) => {
    const { context, colour } = pen
    Object.assign(context, { lineWidth: 2, lineJoin: 'round', strokeStyle: colour('accent') })
    // Where many lie on each other, it is darker.
    context.globalAlpha = Math.max(0.15, 1 / Math.sqrt(lines.length))
    for (const { points } of lines) context.stroke(trace(pen, points))
    Object.assign(context, { globalAlpha: 1, lineWidth: 3, strokeStyle: colour('heart') })
    for (const { points } of found.slice(0, NAMED)) context.stroke(trace(pen, points))
  }
  const pick = (pen: Pen, x: number, y: number) => {
    const ratio = devicePixelRatio
    pen.context.lineWidth = REACH_PX
    setFound(
      lines.filter(({ points }) => pen.context.isPointInStroke(trace(pen, points), x * ratio, y * ratio)),
    )
  }
  const choice = (key: 'year' | 'sport', label: string, values: readonly string[]) => (
    <Select
      aria-label={label}
      value={chosen[key] ?? ''}
      options={[
        ['', `Every ${key}`],
        ...[...new Set(values)].filter(Boolean).map((one) => [one, capitalize(one)] as const),
      ]}
      onChoose={(value) => {
        setFound([])
        choose({ ...chosen, [key]: value }, { step: false })
      }}
    />
  )
  return (
    <>
      <h1>Map</h1>
      <AccountChoice path="/map" accounts={view.accounts} shown={view.account_id} />
      <div class="choice">
        {choice(
          'year',
          'Year',
          all.map(({ day }) => day?.slice(0, 4) ?? ''),
        )}
        {choice(
          'sport',
          'Sport',
          all.map((line) => line.sport),
        )}
      </div>
      <WorldMap
        places={home}
        label={`Map of ${lines.length} activities. Enter names those in the middle.`}
        tiles={view.map_tiles}
        draw={draw}
        onPick={pick}
      >
        <span>
          {formatNumber(lines.length)} activities with a track
          {view.is_drawing && ', more are being drawn'}. Point at a line and click to name it.
        </span>
      </WorldMap>
      <div role="status">
        {found.slice(0, NAMED).map(({ id, name, day }) => (
          <p key={id}>
            {day && formatDay(day)} <ActivityLink id={id} name={name} />
          </p>
        ))}
        {found.length > NAMED && <p>and {formatNumber(found.length - NAMED)} more</p>}
      </div>
    </>
  )
}
