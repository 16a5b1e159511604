import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { formatNumber } from '../format.ts'
import { Toggle } from '../parts.tsx'
import { type Columns, drawLanes, type Lanes, type Line, type Range, type Spec } from './lanes.ts'

const HINT = 'To read values, point at the chart, touch it, or focus it and use the arrow keys. Drag to zoom.'

type Props = {
  /** the lanes and axes; a new object redraws the chart */
  spec: Spec
  /** the values; a new object redraws the chart */
  columns: Columns
  class?: string
  /** the caption */
  children: ComponentChildren
  /** the x range to show; undefined: all. Without `onZoom` the chart keeps its own range, which a new object replaces. */
  range?: Range | undefined
  /** the index of the value to point at */
  pointed?: number | undefined
  /** Called with the index under the pointer; undefined: none. */
  onPoint?: (index: number | undefined) => void
  /** Called with the x range that a person selects; undefined: all. The caller then passes it as `range`. */
  onZoom?: (range: Range | undefined) => void
}

/** A chart with its legend, lanes, caption, and a readout of the values under the pointer; drawn once its width is known. */
export function Chart({ class: className, children, ...props }: Props) {
  return (
    <figure class={className}>
      {props.spec.lanes.length > 0 ? <Plot {...props} /> : <p>There is nothing to plot.</p>}
      <figcaption>{children}</figcaption>
    </figure>
  )
}

function Plot(props: Omit<Props, 'class' | 'children'>) {
  const { spec, columns, pointed } = props
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const [place, setPlace] = useState<number>()
  const [own, setOwn] = useState(props.range)
  const range = props.onZoom ? props.range : own
  const zoom = (shown: Range | undefined) => (events.current.onZoom ?? setOwn)(shown)
  const stage = useRef<HTMLDivElement>(null)
  const lanes = useRef<Lanes | undefined>(undefined)
  const events = useRef(props)
  events.current = props

  useLayoutEffect(() => {
    const hosts = [...(stage.current?.children ?? [])] as HTMLElement[]
    const opened = drawLanes(hosts, spec, columns, {
      point(index) {
        setPlace(index)
        events.current.onPoint?.(index)
      },
      zoom,
    })
    lanes.current = opened
    opened.hide(hidden)
    opened.zoom(range)
    opened.fit()
    const sized = new ResizeObserver(() => opened.fit())
    if (stage.current) sized.observe(stage.current)
    return () => {
      sized.disconnect()
      opened.remove()
    }
  }, [spec, columns])
  useEffect(() => lanes.current?.hide(hidden), [hidden])
  useLayoutEffect(() => setOwn(props.range), [props.range])
  // Sets the scale before the next key press, which zooms from the current scale.
  useLayoutEffect(() => lanes.current?.zoom(range), [range])
  useEffect(() => {
    if (pointed !== undefined && pointed !== place) lanes.current?.point(pointed)
  }, [pointed])
  useEffect(() => {
    const scheme = matchMedia('screen and (prefers-color-scheme: dark)')
    const redraw = () => lanes.current?.redraw()
    scheme.addEventListener('change', redraw)
    return () => scheme.removeEventListener('change', redraw)
  }, [])

  const x = place === undefined ? undefined : columns.x[place]
  const zoomed = range && (range.min > (columns.x[0] ?? 0) || range.max < (columns.x.at(-1) ?? 1))
  const lines = spec.lanes.flatMap((lane) => lane.lines)
  const shown = lines.filter(({ key }) => !hidden.has(key))
  const toggle = (key: string) => {
    const others = new Set(hidden)
    if (!others.delete(key)) others.add(key)
    setHidden(others)
  }
  return (
    <div class="chart">
      <div class="chart-head">
        <div class="toggles" role="group" aria-label={`Lines of ${spec.label}`}>
          {lines.map(({ key, label, look, colour }) => (
            <Toggle key={key} pressed={!hidden.has(key)} onClick={() => toggle(key)}>
              <span class={`swatch ${look}`} aria-hidden="true" style={{ '--swatch': `var(--${colour})` }} />
              {label}
            </Toggle>
          ))}
        </div>
        <button
          type="button"
          hidden={!zoomed}
          onClick={() => {
            zoom(undefined)
            stage.current?.focus()
          }}
        >
          Show all
        </button>
      </div>
      <div
        class="stage"
        ref={stage}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys read the chart
        tabIndex={0}
        role="application"
        aria-label={`${spec.label}. Arrow keys move along it, plus and minus zoom, Escape shows all.`}
        onKeyDown={(event) => lanes.current && onKey(event, lanes.current, { place, zoom })}
        onPointerMove={(event) => lanes.current && onFinger(event, lanes.current)}
      >
        {spec.lanes.map((lane) => (
          <div
            key={lane.lines[0]?.key}
            class="lane"
            data-name={`${lane.lines.map(({ label }) => label).join(', ')} ${lane.unit && `(${lane.unit})`}`.trimEnd()}
            data-lane={lane.lines[0]?.label}
            hidden={lane.lines.every(({ key }) => hidden.has(key))}
          />
        ))}
      </div>
      <p class={x === undefined ? 'readout quiet' : 'readout'} aria-live="polite">
        {x === undefined ? HINT : `${spec.x.say(x)}: ${say(columns, shown, place ?? 0)}`}
      </p>
    </div>
  )
}

function say({ lines }: Columns, shown: readonly Line[], index: number): string {
  return shown
    .map(({ key, label, unit, digits, write }) => {
      const value = lines[key]?.[index]
      return `${label} ${write ? `${write(value)} ${unit}` : formatNumber(value, unit, digits)}`
    })
    .join(' · ')
}

/** Arrow key presses to cross the chart; a tenth with Shift. */
const STEPS_ACROSS = 100
const ZOOM = 0.6

type Pointed = { place: number | undefined; zoom: (range: Range | undefined) => void }

/** Handles the keys that read and zoom a chart; `place` is the index under the pointer. */
function onKey(event: KeyboardEvent, lanes: Lanes, { place, zoom }: Pointed): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const lead = lanes.lead()
  if (!lead) return
  const [first = 0, last = 0] = lead.series[0]?.idxs ?? []
  const within = (index: number) => Math.min(Math.max(index, first), last)
  const at = within(place ?? Math.round((first + last) / 2))
  const step = Math.max(1, Math.round((last - first) / STEPS_ACROSS)) * (event.shiftKey ? 10 : 1)
  const moves: Readonly<Record<string, number>> = {
    ArrowLeft: at - step,
    ArrowRight: at + step,
    Home: first,
    End: last,
  }
  const target = moves[event.key]
  if (target !== undefined) lanes.point(within(target))
  else if (event.key === '+' || event.key === '=') zoom(zoomAround(lead, at, ZOOM))
  else if (event.key === '-') zoom(zoomAround(lead, at, 1 / ZOOM))
  else if (event.key === 'Escape' || event.key === '0') zoom(undefined)
  else return
  event.preventDefault()
}

/** Computes the zoomed x range in which the value at `index` keeps its position on the screen; undefined for the whole range. */
function zoomAround(lead: uPlot, index: number, factor: number): Range | undefined {
  const xs = lead.data[0]
  const lowest = xs[0] ?? 0
  const highest = xs.at(-1) ?? 1
  // On a logarithmic axis, zooms by the ratio to the centre instead of by the distance from the centre.
  const [to, from] = lead.scales.x?.distr === 3 ? [Math.log, Math.exp] : [(x: number) => x, (x: number) => x]
  const centre = to(xs[index] ?? lowest)
  const min = from(centre - (centre - to(lead.scales.x?.min ?? lowest)) * factor)
  const max = from(centre + (to(lead.scales.x?.max ?? highest) - centre) * factor)
  if (min <= lowest && max >= highest) return undefined
  return { min: Math.max(min, lowest), max: Math.min(max, highest) }
}

/** If a finger moves sideways, moves the readout; if a finger moves up or down, the page scrolls. */
function onFinger(event: PointerEvent, lanes: Lanes): void {
  const lead = lanes.lead()
  if (event.pointerType === 'mouse' || !lead) return
  const x = lead.posToVal(event.clientX - lead.over.getBoundingClientRect().left, 'x')
  lanes.point(lead.valToIdx(x))
}
