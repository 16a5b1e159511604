import type { Range } from '../charts/chart.ts'
import { type Child, make } from '../dom.ts'
import { formatDistance } from '../format.ts'
import { makeSection } from '../table.ts'
import { makeRoute, makeTiles, nearestPoint, pointAt, type Route } from './route.ts'
import { indexAt, type Samples } from './stretch-summary.ts'

const SVG = 'http://www.w3.org/2000/svg'
/** Lengths of the bar that tells the scale, m. */
const BARS_M = [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000]
/** The bar is at most that part of the picture's width. */
const BAR_PART = 0.3

export type RouteMap = {
  children: readonly Child[]
  /** Marks the place of a sample by its index; undefined: none. */
  point(index: number | undefined): void
  /** Marks the stretch between two moments, s; undefined: none. */
  mark(range: Range | undefined): void
}

/** Makes the picture of the route from its own coordinates; nothing where there are none. `tiles` is the address of map tiles. */
export function makeRouteMap(
  samples: Samples | undefined,
  tiles: string | null,
  onPoint: (index: number) => void,
): RouteMap {
  const route = samples && makeRoute(samples)
  if (!samples || !route) return { children: [], point: () => undefined, mark: () => undefined }
  const dot = draw('circle', { r: 11, class: 'place', visibility: 'hidden' })
  const marked = draw('path', { class: 'marked', d: '' })
  const picture = draw(
    'svg',
    { viewBox: `0 0 ${round(route.width)} ${round(route.height)}`, class: 'route', role: 'img' },
    ...(tiles === null
      ? []
      : makeTiles(route, tiles).map(({ address, x, y, size }) =>
          draw('image', { href: address, x: round(x), y: round(y), width: round(size), height: round(size) }),
        )),
    draw('path', { class: 'casing', d: pathOf(route) }),
    draw('path', { class: 'way', d: pathOf(route) }),
    marked,
    makeEnd(route, 0, 'start'),
    makeEnd(route, route.points.length - 1, 'finish'),
    dot,
  )
  picture.setAttribute('aria-label', 'The route. The dot follows the place in the charts below.')
  picture.addEventListener('pointermove', (event) => {
    const box = picture.getBoundingClientRect()
    const scale = route.width / box.width
    const nearest = nearestPoint(route, (event.clientX - box.left) * scale, (event.clientY - box.top) * scale)
    if (nearest) onPoint(nearest.index)
  })
  const caption = [makeScale(route), tiles !== null && make('span', {}, `Map tiles of ${hostOf(tiles)}`)]
  return {
    children: [
      makeSection(
        'route-title',
        'Route',
        make('figure', { class: 'route-figure' }, picture, make('figcaption', {}, ...caption)),
      ),
    ],
    point(index) {
      const place = index === undefined ? undefined : pointAt(route, index)
      dot.setAttribute('visibility', place ? 'visible' : 'hidden')
      if (!place) return
      dot.setAttribute('cx', round(place.x))
      dot.setAttribute('cy', round(place.y))
    },
    mark(range) {
      const from = range ? indexAt(samples.elapsed_s, range.min) : 0
      const to = range ? indexAt(samples.elapsed_s, range.max + 0.001) : 0
      marked.setAttribute(
        'd',
        pathOf({ points: route.points.filter(({ index }) => index >= from && index < to) }),
      )
    },
  }
}

function makeEnd({ points }: Route, place: number, kind: string): SVGElement {
  const { x = 0, y = 0 } = points[place] ?? {}
  return draw('circle', { cx: round(x), cy: round(y), r: 9, class: kind })
}

function makeScale({ width, scale }: Route): HTMLElement {
  const length = BARS_M.findLast((metres) => metres * scale <= width * BAR_PART) ?? BARS_M[0] ?? 0
  const bar = make('span', { class: 'bar', 'aria-hidden': 'true' })
  bar.style.width = `${((length * scale) / width) * 100}%`
  const text = `${formatDistance(length / 1_000, 2)} · circle: start, filled: finish`
  return make('span', { class: 'scale' }, bar, text)
}

function pathOf({ points }: Pick<Route, 'points'>): string {
  return points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${round(x)} ${round(y)}`).join('')
}

function round(value: number): string {
  return value.toFixed(1)
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : ''
}

function draw<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string | number>>,
  ...children: readonly SVGElement[]
): SVGElementTagNameMap[Name] {
  const element = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value))
  element.append(...children)
  return element
}
