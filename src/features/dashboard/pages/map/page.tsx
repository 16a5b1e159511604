import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { AccountChoice, readAccount } from '../../shared/account-choice.tsx'
import { formatQuery, useAddress } from '../../shared/address-query.tsx'
import { FirstSteps } from '../../shared/first-steps.tsx'
import { capitalize, formatDay, formatNumber } from '../../shared/format.ts'
import { showPage } from '../../shared/frame.tsx'
import { fetchOnce, useLive } from '../../shared/live.tsx'
import { ActivityLink, Select, Waiting } from '../../shared/parts.tsx'
import { type Pen, WorldMap } from '../../shared/world-map.tsx'
import {
  type Box,
  boxOf,
  decodeTrack,
  followLine,
  homeOf,
  NEAR_UNITS,
  type Place,
  pixelMetres,
  TRACK_UNITS,
} from '../../shared/world-places.ts'
import type { NearView, View } from './queries.ts'

const POLL_EVERY_MS = 60_000
/**
 * The map fetches finer tracks of the shown part (at most 300 kB) if its m per px are fewer than this number divided by the number of
 * activities.
 */
const NEAR_M = 15_000
/** How long the map must rest before it fetches finer tracks, ms. */
const REST_MS = 200
/** Zoom factor after which the map fetches finer tracks again. */
const FINER = 3
const KEYS = ['account', 'year', 'sport'] as const
/** Maximum distance of a track from the pointer at which the track counts as hit, px. */
const REACH_PX = 16
/** Maximum number of activities that are named for one place. */
const NAMED = 5

/** Finer tracks of a part of the map, by activity, and the map's metres per px. */
type Near = { box: Box; metres: number; pieces: ReadonlyMap<number, Place[][]> }

showPage(<ActivityMap />)

function ActivityMap() {
  const [chosen, choose] = useAddress(KEYS)
  const { year = '', sport = '' } = chosen
  const view = useLive<View>(`/api/map${formatQuery({ account: readAccount() })}`, POLL_EVERY_MS)
  const all = useMemo(() => {
    let start: Place | undefined
    return (view?.tracks ?? []).map(({ track, ...line }) => {
      const points = followLine(decodeTrack(track, TRACK_UNITS), start)
      start ??= points[0]
      return { ...line, year: line.day?.slice(0, 4) ?? '', points }
    })
  }, [view?.tracks])
  const [near, setNear] = useState<Near>()
  useEffect(() => setNear(undefined), [view?.tracks])
  const rest = useRef(0)
  const lines = useMemo(
    () => all.filter((line) => line.year.startsWith(year) && line.sport.startsWith(sport)),
    [all, year, sport],
  )
  const home = useMemo(() => homeOf(all.flatMap(({ points }) => points)), [all])
  const [found, setFound] = useState<typeof lines>([])
  if (!view) return <Waiting />
  if (view.account_id === null) return <FirstSteps />
  const fetchNear = ({ eye, width, height }: Pen) => {
    clearTimeout(rest.current)
    const metres = pixelMetres(eye)
    if (
      metres > NEAR_M / all.length ||
      (near && isIn(near.box, boxOf(eye, width, height)) && near.metres < FINER * metres)
    )
      return
    rest.current = window.setTimeout(async () => {
      const box = boxOf(eye, 1.5 * width, 1.5 * height)
      const query = formatQuery({ account: String(view.account_id), ...box })
      const answer = await fetchOnce<NearView>(`/api/map/near${query}`)
      const pieces = new Map<number, Place[][]>()
      for (const { id, track } of answer?.pieces ?? [])
        pieces.set(id, [...(pieces.get(id) ?? []), followLine(decodeTrack(track, NEAR_UNITS), eye)])
      if (answer) setNear({ box, metres, pieces })
    }, REST_MS)
  }
  const tracerOf = ({ at, eye, width, height }: Pen) => {
    const pieces = near && isIn(near.box, boxOf(eye, width, height)) ? near.pieces : undefined
    return ({ id, points }: (typeof lines)[number]) => {
      const path = new Path2D()
      for (const piece of pieces ? (pieces.get(id) ?? []) : [points]) {
        path.moveTo(...at(piece[0] as Place))
        for (const point of piece) path.lineTo(...at(point))
      }
      return path
    }
  }
  const draw = (pen: Pen) => {
    const { context, colour } = pen
    const trace = tracerOf(pen)
    fetchNear(pen)
    Object.assign(context, {
      lineWidth: 2,
      lineJoin: 'bevel',
      lineCap: 'square',
      strokeStyle: colour('accent'),
    })
    // Overlapping tracks add up to a darker line.
    context.globalAlpha = Math.max(0.15, 1 / Math.sqrt(lines.length))
    for (const line of lines) context.stroke(trace(line))
    Object.assign(context, { globalAlpha: 1, lineWidth: 3, strokeStyle: colour('heart') })
    for (const line of found.slice(0, NAMED)) context.stroke(trace(line))
  }
  const pick = (pen: Pen, x: number, y: number) => {
    const [ratio, trace] = [devicePixelRatio, tracerOf(pen)]
    pen.context.lineWidth = REACH_PX
    setFound(lines.filter((line) => pen.context.isPointInStroke(trace(line), x * ratio, y * ratio)))
  }
  return (
    <>
      <h1>Map</h1>
      <AccountChoice path="/map" accounts={view.accounts} shown={view.account_id} />
      <div class="choice">
        {(['year', 'sport'] as const).map((key) => (
          <Select
            key={key}
            aria-label={capitalize(key)}
            value={chosen[key] ?? ''}
            options={[
              ['', `All ${key}s`],
              ...[...new Set(all.map((line) => line[key]))]
                .filter(Boolean)
                .map((one) => [one, capitalize(one)] as const),
            ]}
            onChoose={(value) => {
              setFound([])
              choose({ ...chosen, [key]: value }, { step: false })
            }}
          />
        ))}
      </div>
      <WorldMap
        places={home}
        label={`Map of ${lines.length} activities. Enter names the activities in the middle.`}
        tiles={view.map_tiles}
        draw={draw}
        onPick={pick}
      >
        <span>
          {formatNumber(lines.length)} activities with a track
          {view.left > 0 && `; ${formatNumber(view.left)} more tracks are being made`}. Click a line to name
          its activity.
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

const isIn = (box: Box, part: Box) =>
  part.west >= box.west && part.east <= box.east && part.south >= box.south && part.north <= box.north
