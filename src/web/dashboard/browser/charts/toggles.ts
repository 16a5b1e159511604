import { make } from '../dom.ts'
import type { Line, Spec } from './spec.ts'

/** Makes the legend: a button a line, which takes it off the chart and puts it back. A lone line has nothing to choose. */
export function makeToggles(spec: Spec, onToggle: (line: Line, shown: boolean) => void): HTMLElement {
  const lines = spec.lanes.flatMap((lane) => lane.lines)
  const buttons = lines.map((line) => {
    const swatch = make('span', { class: `swatch ${line.look}`, 'aria-hidden': 'true' })
    swatch.style.setProperty('--swatch', `var(--${line.colour})`)
    const button = make('button', { type: 'button', 'aria-pressed': 'true' }, swatch, line.label)
    button.addEventListener('click', () => {
      const shown = button.getAttribute('aria-pressed') !== 'true'
      button.setAttribute('aria-pressed', String(shown))
      onToggle(line, shown)
    })
    return button
  })
  return make('div', { class: 'toggles', role: 'group', 'aria-label': `Lines of ${spec.label}` }, ...buttons)
}
