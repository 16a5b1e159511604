import { make } from './dom.ts'
import { formatSpan } from './format.ts'

/** Often enough that `1 min ago` is not long untrue. */
const TURN_EVERY_MS = 15_000

/** Makes the time that has passed since an instant, or is left until it; startAgoClock keeps it true. */
export function makeAgo(instant: string): HTMLTimeElement {
  const when = new Date(instant)
  return make('time', { datetime: instant, title: when.toLocaleString('en-GB') }, writeAgo(when))
}

/** Keeps all times of the page true. */
export function startAgoClock(): void {
  setInterval(() => {
    for (const element of document.querySelectorAll('time')) {
      const text = writeAgo(new Date(element.dateTime))
      if (element.textContent !== text) element.textContent = text
    }
  }, TURN_EVERY_MS)
}

function writeAgo(when: Date): string {
  const seconds = (Date.now() - when.getTime()) / 1_000
  if (Math.abs(seconds) < 10) return 'now'
  // One unit is enough for a glance; the title has the rest.
  const [count = '', unit = ''] = formatSpan(Math.abs(seconds)).split(' ')
  return seconds > 0 ? `${count} ${unit} ago` : `in ${count} ${unit}`
}
