import type { ComponentChildren, ComponentProps } from 'preact'
import { useEffect, useMemo, useReducer } from 'preact/hooks'
import { formatInstant, formatName, formatSpan } from './format.ts'
import { ROOT } from './root.ts'

export type Mood = 'good' | 'busy' | 'bad' | 'plain'

const SIGNS: Readonly<Record<Mood, string>> = { good: '✓', busy: '…', bad: '!', plain: '·' }

/** The final states of an uploaded file, with their moods. */
export const ENDED = { mirrored: 'good', attached: 'good', duplicate: 'plain', refused: 'bad' } as const

/** A state as a word with a symbol, so that the state can be understood without colours. */
export function Badge({ mood, children }: { mood: Mood; children: ComponentChildren }) {
  return (
    <span class={`badge ${mood}`}>
      <span aria-hidden="true">{SIGNS[mood]}</span>
      {children}
    </span>
  )
}

const ACTIVITY_STATES: Readonly<Record<string, readonly [text: string, mood: Mood]>> = {
  wanted: ['to be fetched', 'busy'],
  awaiting_samples: ['waiting for samples', 'busy'],
  failed: ['failed', 'bad'],
}

/** The badge of an incomplete activity or a breakthrough; nothing for other activities. */
export function ActivityBadge(line: { detail_state: string; breakthrough: number | null }) {
  const of = line.breakthrough ?? 0
  const [text, mood] =
    ACTIVITY_STATES[line.detail_state] ??
    (of > 0 ? ['breakthrough', 'good'] : of === -1 ? ['near breakthrough', 'busy'] : [])
  return mood ? <Badge mood={mood}>{text}</Badge> : null
}

/** A link to a path of the dashboard. */
export function Link({ to, ...rest }: Omit<ComponentProps<'a'>, 'role'> & { to: string }) {
  return <a href={ROOT + to} {...rest} />
}

/** A link to an activity, with its name as the text. */
export function ActivityLink({ id, name }: { id: number; name: string | null }) {
  return <Link to={`/activities/${id}`}>{formatName(name)}</Link>
}

type SelectProps = {
  value: string | number
  options: ReadonlyArray<readonly [value: string | number, text: string]>
  onChoose: (value: string) => void
  id?: string
  'aria-label'?: string
}

/** A select box; each option is a value and its label. */
export function Select({ options, onChoose, ...rest }: SelectProps) {
  return (
    <select {...rest} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  )
}

/** A button that stays pressed. */
export function Toggle({ pressed, ...rest }: ComponentProps<'button'> & { pressed: boolean }) {
  return <button type="button" aria-pressed={pressed} {...rest} />
}

type SectionProps = { id: string; title: string; children: ComponentChildren }

/** A section of a page with its heading. */
export function Section({ id, title, children }: SectionProps) {
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  )
}

/** A section that starts closed on a narrow screen. */
export function FoldedSection({ id, title, children }: SectionProps) {
  const isNarrow = useMemo(() => matchMedia('(max-width: 46rem)').matches, [])
  if (!isNarrow) return <Section {...{ id, title, children }} />
  return (
    <section aria-labelledby={id}>
      <details class="folded">
        <summary>
          <h2 id={id}>{title}</h2>
        </summary>
        {children}
      </details>
    </section>
  )
}

/** Hides its contents until it is opened. */
export function Details({ children, title }: { children: ComponentChildren; title: string }) {
  return (
    <details>
      <summary>{title}</summary>
      {children}
    </details>
  )
}

/** A number on a page: its name, its value with the unit, and a note. */
export type NamedNumber = readonly [name: string, value: string, note?: string]

/** Returns only the known numbers. */
export function knownOf(numbers: readonly NamedNumber[]): readonly NamedNumber[] {
  return numbers.filter(([, value]) => value !== '' && !value.startsWith('–'))
}

/** A list of numbers with their names. */
export function Numbers({ numbers, wide }: { numbers: readonly NamedNumber[]; wide?: boolean }) {
  return (
    <dl class={wide ? 'numbers wide' : 'numbers'}>
      {numbers.map(([name, value, note]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {note && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** A problem as a sentence, with a command or a page that helps. `calm`: the problem ends without a person. */
export type Problem = {
  text: string
  calm?: boolean | undefined
  command?: string | null
  link?: { to: string; text: string }
}

/** A notice of a problem with its command or link. */
export function Notice({ text, calm, command, link, children }: Problem & { children?: ComponentChildren }) {
  return (
    <p class={calm ? 'notice calm' : 'notice'}>
      {text} {command && <code>{command}</code>}
      {link && <Link to={link.to}>{link.text}</Link>}
      {children}
    </p>
  )
}

/** The placeholder of a page until its first response. */
export function Waiting() {
  return <p class="waiting">Loading…</p>
}

/** Interval between updates of `1 min ago`, ms. */
const REFRESH_MS = 15_000

/** The time since or until an instant, such as `5 min ago`, kept up to date. */
export function Ago({ at }: { at: string }) {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    const timer = setInterval(redraw, REFRESH_MS)
    return () => clearInterval(timer)
  }, [])
  const when = new Date(at)
  return (
    <time datetime={at} title={formatInstant(when)}>
      {formatAgo(when)}
    </time>
  )
}

function formatAgo(when: Date): string {
  const seconds = (Date.now() - when.getTime()) / 1_000
  if (Math.abs(seconds) < 10) return 'now'
  // One unit is enough, because the tooltip shows the exact instant.
  const [count = '', unit = ''] = formatSpan(Math.abs(seconds)).split(' ')
  return seconds > 0 ? `${count} ${unit} ago` : `in ${count} ${unit}`
}
