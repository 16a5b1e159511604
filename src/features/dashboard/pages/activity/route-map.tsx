import { useMemo } from 'preact/hooks'
import type { Range } from '../../shared/charts/lanes.ts'
import { Section } from '../../shared/parts.tsx'
import { type Pen, WorldMap } from '../../shared/world-map.tsx'
import { makeRoute, nearestPoint, pointAt, type RoutePoint } from './route.ts'
import { indexAt, type Samples } from './summarize.ts'

type Props = {
  samples: Samples
  /** URL of map tiles with `{z}`, `{x}` and `{y}`; null without tiles */
  tiles: string | null
  /** the index of the sample under the pointer */
  pointed: number | undefined
  /** the selected section, s */
  range: Range | undefined
  onPoint: (index: number) => void
}

/** The map of the route; nothing if there are no coordinates. */
export function RouteMap({ samples, tiles, pointed, range, onPoint }: Props) {
  const route = useMemo(() => makeRoute(samples), [samples])
  if (!route) return null
  const [from, to] = range
    ? [indexAt(samples.elapsed_s, range.min), indexAt(samples.elapsed_s, range.max + 0.001)]
    : [0, 0]
  const marked = route.filter(({ index }) => index >= from && index < to)
  const place = pointed === undefined ? undefined : pointAt(route, pointed)
  const draw = (pen: Pen) => {
    drawLine(pen, route, 'surface', 6)
    drawLine(pen, route, 'accent', 2.5)
    drawLine(pen, marked, 'mpa', 4)
    drawDot(pen, route[0], 'surface', 'text')
    drawDot(pen, route.at(-1), 'text', 'text')
    drawDot(pen, place, 'heart', 'surface')
  }
  return (
    <Section id="route-title" title="Route">
      <WorldMap
        places={route}
        label="The route. The dot shows the position that you point at in the charts below."
        tiles={tiles}
        draw={draw}
        pointed={place}
        onPoint={(under) => onPoint(nearestPoint(route, under).index)}
      >
        <span>circle: start, filled: finish</span>
      </WorldMap>
    </Section>
  )
}

function drawLine({ context, at, colour }: Pen, points: readonly RoutePoint[], name: string, width: number) {
  context.beginPath()
  for (const point of points) context.lineTo(...at(point))
  Object.assign(context, { strokeStyle: colour(name), lineWidth: width, lineJoin: 'round', lineCap: 'round' })
  context.stroke()
}

function drawDot({ context, at, colour }: Pen, point: RoutePoint | undefined, fill: string, edge: string) {
  if (!point) return
  context.beginPath()
  context.arc(...at(point), 8, 0, 2 * Math.PI)
  Object.assign(context, { fillStyle: colour(fill), strokeStyle: colour(edge), lineWidth: 2 })
  context.fill()
  context.stroke()
}
