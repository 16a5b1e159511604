import type { Problem } from './ask.ts'
import { find, make, refill } from './dom.ts'

/** Shows in the page's frame whether it is live, or what is wrong and what helps. */
export function showState(problem: Problem | undefined): void {
  const live = find('#live')
  const text = JSON.stringify(problem ?? null)
  // Told once: what is read aloud again every few seconds helps nobody.
  if (live.dataset.told === text) return
  live.dataset.told = text
  live.dataset.state = problem ? 'waiting' : 'live'
  live.textContent = problem ? 'Not live' : 'Live'
  refill(find('#problem'), problem && makeNotice(problem))
}

/** Makes a notice of something that a person should know of. */
export function makeNotice({ text, calm, command, link }: Problem): HTMLElement {
  return make(
    'p',
    { class: calm ? 'notice calm' : 'notice' },
    `${text} `,
    command !== undefined && make('code', {}, command),
    link && make('a', { href: link.href }, link.text),
  )
}
