import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Range } from '../../shared/charts/lanes.ts'
import { formatDistance } from '../../shared/format.ts'
import { Section } from '../../shared/parts.tsx'
import { makePart, makeRoute, makeTiles, nearestPoint, type Part, pointAt, type Route } from './route.ts'
import { indexAt, type Samples } from './summarize.ts'

/** Lengths of the scale bar, m. */
const BARS_M = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000]
/** The longest bar, as a share of the picture's width. */
const BAR_PART = 0.3
/** The highest zoom: a picture of 100 km then shows 3 km. */
const MAX_ZOOM = 32

type Props = {
  samples: Samples
  /** address of map tiles with `{z}`, `{x}` and `{y}`; null without tiles */
  tiles: string | null
  /** the index of the pointed sample */
  pointed: number | undefined
  /** the chosen stretch, s */
  range: Range | undefined
  onPoint: (index: number) => void
}

/** The picture of the route, which can be zoomed and moved; nothing without coordinates. */
export function RouteMap({ samples, ...props }: Props) {
  const route = useMemo(() => makeRoute(samples), [samples])
  return route ? <Picture key={route} route={route} samples={samples} {...props} /> : null
}

function Picture({ route, samples, tiles, pointed, range, onPoint }: Props & { route: Route }) {
  const [part, setPart] = useState(() => makePart(route, 1, { x: 0, y: 0 }))
  const middle = { x: part.x + part.width / 2, y: part.y + part.height / 2 }
  const place = pointed === undefined ? undefined : pointAt(route, pointed)
  const way = useMemo(() => pathOf(route.points), [route])
  const marked = useMemo(() => range && pathOf(pointsIn(route, samples, range)), [route, range])
  const pictures = useMemo(() => (tiles === null ? [] : makeTiles(route, tiles, part)), [route, tiles, part])
  const zoom = (factor: number) =>
    setPart(makePart(route, Math.min(Math.max(1, part.zoom * factor), MAX_ZOOM), place ?? middle))
  // Keeps the pointed place of the charts visible.
  useEffect(() => {
    if (place && !isWithin(part, place)) setPart(makePart(route, part.zoom, place))
  }, [pointed])
  const onMove = ({ currentTarget, clientX, clientY, movementX, movementY, buttons }: PointerEvent) => {
    const box = (currentTarget as Element).getBoundingClientRect()
    const scale = part.width / box.width
    if (buttons === 1 && part.zoom > 1)
      return setPart(
        makePart(route, part.zoom, { x: middle.x - movementX * scale, y: middle.y - movementY * scale }),
      )
    const [x, y] = [part.x + (clientX - box.left) * scale, part.y + (clientY - box.top) * scale]
    const nearest = nearestPoint(route, x, y)
    if (nearest) onPoint(nearest.index)
  }
  return (
    <Section id="route-title" title="Route">
      <figure class="route-figure">
        <svg
          viewBox={[part.x, part.y, part.width, part.height].map(round).join(' ')}
          class={part.zoom > 1 ? 'route movable' : 'route'}
          style={{ '--zoom': part.zoom }}
          role="img"
          aria-label="The route. The dot follows the place in the charts below."
          onPointerMove={onMove}
        >
          {pictures.map(({ address, x, y, size }) => (
            <image
              key={address}
              href={address}
              x={round(x)}
              y={round(y)}
              width={round(size)}
              height={round(size)}
              // Hides the broken picture that a browser would draw.
              onError={({ currentTarget }) => currentTarget.setAttribute('visibility', 'hidden')}
            />
          ))}
          <path class="casing" d={way} />
          <path class="way" d={way} />
          <path class="marked" d={marked ?? ''} />
          <End point={route.points[0]} kind="start" />
          <End point={route.points.at(-1)} kind="finish" />
          <circle
            class="place"
            visibility={place ? 'visible' : 'hidden'}
            cx={round(place?.x ?? 0)}
            cy={round(place?.y ?? 0)}
          />
        </svg>
        <figcaption>
          <Scale scale={route.scale} width={part.width} />
          <span class="toggles">
            <button type="button" disabled={part.zoom >= MAX_ZOOM} onClick={() => zoom(2)}>
              Zoom in
            </button>
            <button type="button" disabled={part.zoom <= 1} onClick={() => zoom(1 / 2)}>
              Zoom out
            </button>
          </span>
          {tiles === null ? (
            <span>
              For a map behind it set <code>MUSETTE_MAP_TILES</code>, for example to{' '}
              <code>{'https://tile.openstreetmap.org/{z}/{x}/{y}.png'}</code>; that server learns where you
              rode.
            </span>
          ) : (
            <span>
              Map tiles of {URL.canParse(tiles) ? new URL(tiles).host : ''},{' '}
              <a href="https://www.openstreetmap.org/copyright">© OpenStreetMap contributors</a>
            </span>
          )}
        </figcaption>
      </figure>
    </Section>
  )
}

function pointsIn({ points }: Route, { elapsed_s: at }: Samples, { min, max }: Range): Route['points'] {
  const [from, to] = [indexAt(at, min), indexAt(at, max + 0.001)]
  return points.filter(({ index }) => index >= from && index < to)
}

function isWithin({ x, y, width, height }: Part, place: { x: number; y: number }): boolean {
  return place.x >= x && place.x <= x + width && place.y >= y && place.y <= y + height
}

function End({ point, kind }: { point: Route['points'][number] | undefined; kind: string }) {
  return <circle cx={round(point?.x ?? 0)} cy={round(point?.y ?? 0)} class={kind} />
}

function Scale({ scale, width }: { scale: number; width: number }) {
  const length = BARS_M.findLast((metres) => metres * scale <= width * BAR_PART)
  return (
    <span class="scale">
      {length !== undefined && (
        <>
          <span class="bar" aria-hidden="true" style={{ width: `${((length * scale) / width) * 100}%` }} />
          {formatDistance(length / 1_000, 3)} ·{' '}
        </>
      )}
      circle: start, filled: finish
    </span>
  )
}

function pathOf(points: Route['points']): string {
  return points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${round(x)} ${round(y)}`).join('')
}

function round(value: number): string {
  return value.toFixed(1)
}
