import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks'
import { formatDistance } from './format.ts'
import { type Eye, MAX_SCALE, makeTiles, type Place, pixelMetres, seeAll } from './world-places.ts'

/** What `draw` gets: `at` returns a place's position on the map, px; `colour` returns the value of a palette colour. */
export type Pen = Readonly<{
  context: CanvasRenderingContext2D
  eye: Eye
  width: number
  height: number
  at: (place: Place) => readonly [x: number, y: number]
  colour: (name: string) => string
}>

type Props = {
  /** the places that the map shows until a person moves it */
  places: readonly Place[]
  label: string
  /** URL of map tiles with `{z}`, `{x}` and `{y}`; null without tiles */
  tiles: string | null
  draw: (pen: Pen) => void
  /** a place that the map keeps in view */
  pointed?: Place | undefined
  /** called with the place under the pointer; with this callback, the map can be moved only while it is zoomed in */
  onPoint?: (place: Place) => void
  /** called with the position of a click, px, or with the middle for Enter */
  onPick?: (pen: Pen, x: number, y: number) => void
  /** the caption */
  children?: ComponentChildren
}

const KEYS: Readonly<Record<string, readonly [x: number, y: number, factor: number]>> = {
  ...{ ArrowLeft: [60, 0, 1], ArrowRight: [-60, 0, 1], ArrowUp: [0, 60, 1], ArrowDown: [0, -60, 1] },
  ...{ '+': [0, 0, 1.5], '=': [0, 0, 1.5], '-': [0, 0, 1 / 1.5] },
}
/** Maximum movement of a pointer for a click, px. */
const CLICK_PX = 5

/** A map on a canvas, with tiles if their URL is set. A person moves and zooms the map with mouse, fingers, wheel, keys and buttons. */
export function WorldMap({ places, label, tiles, draw, pointed, onPoint, onPick, children }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  // If undefined, the map shows all places, whatever its size.
  const [moved, setEye] = useState<Eye>()
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const pictures = useRef(new Map<string, HTMLImageElement>()).current
  const fingers = useRef(new Map<number, { x: number; y: number; moved: number }>()).current
  const { clientWidth: width = 0, clientHeight: height = 0 } = canvas.current ?? {}
  const whole = seeAll(places, width, height)
  const eye = moved ?? whole
  const isMovable = !onPoint || moved !== undefined
  const at = ({ x, y }: Place) =>
    [(x - eye.x) * eye.scale + width / 2, (y - eye.y) * eye.scale + height / 2] as const
  /** Moves the map by px, then zooms it around the point `x`, `y`, px from its middle. */
  const move = (dx: number, dy: number, factor = 1, x = 0, y = 0) =>
    // A hidden map has no size and so no scale to start from.
    width > 0 &&
    setEye((now = whole) => {
      const scale = Math.min(MAX_SCALE, Math.max(whole.scale / 100, now.scale * factor))
      if (onPoint && scale <= whole.scale * 1.01) return undefined
      const kept = 1 / now.scale - 1 / scale
      return { x: now.x - dx / now.scale + x * kept, y: now.y - dy / now.scale + y * kept, scale }
    })
  const makePen = (): Pen | undefined => {
    const context = canvas.current?.getContext('2d')
    const colour = (name: string) => getComputedStyle(document.body).getPropertyValue(`--${name}`)
    return context ? { context, eye, width, height, at, colour } : undefined
  }
  const pointOf = ({ clientX, clientY }: MouseEvent) => {
    const box = canvas.current?.getBoundingClientRect()
    return { x: clientX - (box?.left ?? 0), y: clientY - (box?.top ?? 0) }
  }
  const onMove = (event: PointerEvent) => {
    const point = pointOf(event)
    const finger = fingers.get(event.pointerId)
    if (!finger || (fingers.size === 1 && !isMovable)) {
      const [dx, dy] = [(point.x - width / 2) / eye.scale, (point.y - height / 2) / eye.scale]
      return onPoint?.({ x: eye.x + dx, y: eye.y + dy })
    }
    const [dx, dy] = [point.x - finger.x, point.y - finger.y]
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1]
    const far = (one: Place) => (other ? Math.hypot(one.x - other.x, one.y - other.y) : 1)
    const centre = other ? { x: (point.x + other.x) / 2, y: (point.y + other.y) / 2 } : point
    const share = other ? 0.5 : 1
    move(dx * share, dy * share, far(point) / far(finger), centre.x - width / 2, centre.y - height / 2)
    fingers.set(event.pointerId, { ...point, moved: finger.moved + Math.hypot(dx, dy) })
  }
  const onUp = ({ pointerId, type }: PointerEvent) => {
    const finger = fingers.get(pointerId)
    fingers.delete(pointerId)
    const pen = makePen()
    if (finger && pen && type === 'pointerup' && finger.moved < CLICK_PX) onPick?.(pen, finger.x, finger.y)
  }
  const onKey = (event: KeyboardEvent) => {
    const step = KEYS[event.key]
    const pen = makePen()
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (step) move(...step)
    else if (event.key === '0' || event.key === 'Escape') setEye(undefined)
    else if (event.key === 'Enter' && pen) onPick?.(pen, width / 2, height / 2)
    else return
    event.preventDefault()
  }
  useEffect(() => {
    const [x, y] = pointed ? at(pointed) : [0, 0]
    if (pointed && moved && (x < 0 || y < 0 || x > width || y > height))
      setEye({ x: pointed.x, y: pointed.y, scale: moved.scale })
  }, [pointed])
  const onWheel = (event: WheelEvent) => {
    // Over an activity's route, the wheel without Ctrl scrolls the page.
    if (onPoint && !event.ctrlKey) return
    event.preventDefault()
    const { x, y } = pointOf(event)
    move(0, 0, 2 ** (-event.deltaY / 300), x - width / 2, y - height / 2)
  }
  useLayoutEffect(() => {
    // Draws at once, because the observer reports the size only later, maybe after the first keys.
    redraw(undefined)
    const sized = new ResizeObserver(redraw)
    const scheme = matchMedia('screen and (prefers-color-scheme: dark)')
    if (canvas.current) sized.observe(canvas.current)
    scheme.addEventListener('change', redraw)
    return () => {
      sized.disconnect()
      scheme.removeEventListener('change', redraw)
    }
  }, [])
  useEffect(() => {
    // Not a listener of Preact, because that would be passive, so the page would scroll.
    const shown = canvas.current
    shown?.addEventListener('wheel', onWheel, { passive: false })
    return () => shown?.removeEventListener('wheel', onWheel)
  })
  useLayoutEffect(() => {
    const pen = makePen()
    if (!pen || !canvas.current || width === 0) return
    const ratio = devicePixelRatio
    // Setting the size also clears the canvas.
    Object.assign(canvas.current, { width: width * ratio, height: height * ratio })
    pen.context.scale(ratio, ratio)
    for (const { address, x, y, size } of tiles === null ? [] : makeTiles(eye, tiles, width, height)) {
      const picture = pictures.get(address) ?? Object.assign(new Image(), { src: address, onload: redraw })
      pictures.set(address, picture)
      if (picture.complete && picture.naturalWidth > 0) pen.context.drawImage(picture, x, y, size, size)
    }
    draw(pen)
  })
  // The buttons zoom around the pointed place.
  const [x, y] = pointed ? [at(pointed)[0] - width / 2, at(pointed)[1] - height / 2] : [0, 0]
  return (
    <figure class="world-map">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: arrow keys move it, as the label says */}
      <canvas
        ref={canvas}
        class={isMovable ? 'movable' : undefined}
        tabIndex={0}
        role="application"
        aria-label={`${label} Arrow keys move it, plus and minus zoom, 0 resets it.`}
        onPointerDown={(event) => {
          if (event.button !== 0) return
          canvas.current?.setPointerCapture(event.pointerId)
          fingers.set(event.pointerId, { ...pointOf(event), moved: fingers.size * CLICK_PX })
        }}
        onPointerMove={onMove}
        onPointerUp={onUp}
        onPointerCancel={onUp}
        onKeyDown={onKey}
      />
      <figcaption>
        <Scale eye={eye} width={width} />
        {children}
        <span class="toggles">
          <button type="button" onClick={() => move(0, 0, 2, x, y)}>
            Zoom in
          </button>
          <button type="button" onClick={() => move(0, 0, 1 / 2, x, y)}>
            Zoom out
          </button>
        </span>
        {tiles === null ? (
          <span>
            For a background map, set <code>MUSETTE_MAP_TILES</code>, for example to{' '}
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
  )
}

/** Maximum length of the scale bar, px. */
const BAR_PX = 200

/** The scale bar for the middle of the map: the longest bar of 1, 2 or 5 times a power of ten. */
function Scale({ eye, width }: { eye: Eye; width: number }) {
  const metres = pixelMetres(eye)
  const most = Math.min(BAR_PX, width * 0.3) * metres
  const unit = 10 ** Math.floor(Math.log10(most))
  const length = ([5, 2, 1].find((one) => one * unit <= most) ?? 1) * unit
  if (!(length > 0)) return null
  return (
    <span class="scale">
      <span class="bar" aria-hidden="true" style={{ width: `${length / metres}px` }} />
      {formatDistance(length / 1_000, 3)}
    </span>
  )
}
