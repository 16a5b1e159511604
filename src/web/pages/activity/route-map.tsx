import { useMemo } from 'preact/hooks'
import type { Range } from '../../shared/charts/lanes.ts'
import { formatDistance } from '../../shared/format.ts'
import { Section } from '../../shared/parts.tsx'
import { makeRoute, makeTiles, nearestPoint, pointAt, type Route } from './route.ts'
import { indexAt, type Samples } from './summarize.ts'

/** Lengths of the bar that tells the scale, m. */
const BARS_M = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000]
/** The bar is at most that part of the picture's width. */
const BAR_PART = 0.3

type Props = {
  samples: Samples
  /** address of map tiles with `{z}`, `{x}` and `{y}`; null without tiles */
  tiles: string | null
  /** the index of the sample that is pointed at */
  pointed: number | undefined
  /** the chosen stretch, s */
  range: Range | undefined
  onPoint: (index: number) => void
}

/** The picture of the route from its own coordinates; nothing where there are none. */
export function RouteMap({ samples, tiles, pointed, range, onPoint }: Props) {
  const route = useMemo(() => makeRoute(samples), [samples])
  const way = useMemo(() => route && pathOf(route.points), [route])
  const marked = useMemo(() => route && range && pathOf(pointsIn(route, samples, range)), [route, range])
  const pictures = useMemo(() => (route && tiles !== null ? makeTiles(route, tiles) : []), [route, tiles])
  if (!route) return null
  const place = pointed === undefined ? undefined : pointAt(route, pointed)
  const onMove = ({ currentTarget, clientX, clientY }: PointerEvent) => {
    const box = (currentTarget as Element).getBoundingClientRect()
    const scale = route.width / box.width
    const nearest = nearestPoint(route, (clientX - box.left) * scale, (clientY - box.top) * scale)
    if (nearest) onPoint(nearest.index)
  }
  return (
    <Section id="route-title" title="Route">
      <figure class="route-figure">
        <svg
          viewBox={`0 0 ${round(route.width)} ${round(route.height)}`}
          class="route"
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
            />
          ))}
          <path class="casing" d={way} />
          <path class="way" d={way} />
          <path class="marked" d={marked ?? ''} />
          <End point={route.points[0]} kind="start" />
          <End point={route.points.at(-1)} kind="finish" />
          <circle
            r={11}
            class="place"
            visibility={place ? 'visible' : 'hidden'}
            cx={round(place?.x ?? 0)}
            cy={round(place?.y ?? 0)}
          />
        </svg>
        <figcaption>
          <Scale route={route} />
          {tiles !== null && <span>Map tiles of {hostOf(tiles)}</span>}
        </figcaption>
      </figure>
    </Section>
  )
}

function pointsIn({ points }: Route, { elapsed_s: at }: Samples, { min, max }: Range): Route['points'] {
  const [from, to] = [indexAt(at, min), indexAt(at, max + 0.001)]
  return points.filter(({ index }) => index >= from && index < to)
}

function End({ point, kind }: { point: Route['points'][number] | undefined; kind: string }) {
  return <circle cx={round(point?.x ?? 0)} cy={round(point?.y ?? 0)} r={9} class={kind} />
}

function Scale({ route: { width, scale } }: { route: Route }) {
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

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : ''
}
