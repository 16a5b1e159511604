import { make } from './dom.ts'

export type Mood = 'good' | 'busy' | 'bad' | 'plain'

const SIGNS: Readonly<Record<Mood, string>> = { good: '✓', busy: '…', bad: '!', plain: '·' }

/** Makes a state as a word with a sign, so that it is told without its colour, too. */
export function makeBadge(text: string, mood: Mood): HTMLElement {
  return make('span', { class: `badge ${mood}` }, make('span', { 'aria-hidden': 'true' }, SIGNS[mood]), text)
}
