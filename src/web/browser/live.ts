import { find, make, ROOT, refill } from './dom.ts'
import { formatInstant, formatSpan } from './format.ts'

/** While a problem lasts, requests come less and less often, down to one in this time. */
const LONGEST_PAUSE_MS = 15_000

/** Shows an answer. A returned problem is shown, too, and the same answer handed over again. */
type OnData<T> = (data: T) => Problem | undefined | Promise<Problem | undefined>

/**
 * Fetches `path`, or what it returns at that moment, again and again, one request at a time, and hands over every answer
 * that is new. It pauses while the page is hidden, and fetches at once when the page is shown again. The page's frame
 * shows whether that works.
 */
export async function follow<T>(
  path: string | (() => string),
  options: { everyMs: number; onData: OnData<T> },
): Promise<never> {
  startAgoClock()
  let etag: string | undefined
  let last: string | undefined
  let problems = 0
  for (;;) {
    await untilVisible()
    const now = typeof path === 'string' ? path : path()
    const answer = await fetchJson<T>(now, now === last ? etag : undefined)
    last = now
    const problem =
      answer.kind === 'data'
        ? await options.onData(answer.data)
        : answer.kind === 'problem'
          ? answer.problem
          : undefined
    if (answer.kind === 'data' && !problem) etag = answer.etag
    showState(problem ?? undefined)
    problems = problem ? problems + 1 : 0
    await pause(Math.min(Math.max(options.everyMs, LONGEST_PAUSE_MS), options.everyMs * 1.5 ** problems))
  }
}

function untilVisible(): Promise<void> {
  if (!document.hidden) return Promise.resolve()
  return new Promise((resolve) => {
    const onChange = () => {
      if (document.hidden) return
      document.removeEventListener('visibilitychange', onChange)
      resolve()
    }
    document.addEventListener('visibilitychange', onChange)
  })
}

/** Ends early when the page is shown again or the network is back. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', end)
      removeEventListener('online', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    document.addEventListener('visibilitychange', end)
    addEventListener('online', end)
  })
}

/** Longer than the daemon takes to find that its database is unreachable. */
const ANSWER_WITHIN_MS = 20_000

/** A problem in words for a person, with a command or a page that helps. `calm`: it passes by itself. */
export type Problem = {
  text: string
  calm?: boolean
  command?: string
  link?: { href: string; text: string }
}
export type Answer<T> =
  | { kind: 'data'; data: T; etag: string | undefined }
  | { kind: 'same' }
  | { kind: 'problem'; problem: Problem }

/** Fetches JSON from the daemon; `etag` is that of the last answer. Never throws. */
export async function fetchJson<T>(path: string, etag?: string): Promise<Answer<T>> {
  try {
    const response = await fetch(ROOT + path, {
      cache: 'no-store',
      headers: { accept: 'application/json', ...(etag && { 'if-none-match': etag }) },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    if (response.status === 304) return { kind: 'same' }
    if (response.ok)
      return { kind: 'data', data: await response.json(), etag: response.headers.get('etag') ?? undefined }
    return { kind: 'problem', problem: await readProblem(response) }
  } catch {
    return { kind: 'problem', problem: UNREACHABLE }
  }
}

const UNREACHABLE: Problem = {
  text: 'The daemon does not answer. This page tries again by itself. If the daemon does not run, start it:',
  command: 'musette start',
}

async function readProblem(response: Response): Promise<Problem> {
  if (response.status === 401) {
    const next = encodeURIComponent(location.pathname.slice(ROOT.length) + location.search)
    return { text: 'Your session has ended.', link: { href: `/login?next=${next}`, text: 'Sign in again' } }
  }
  const reason = await readReason(response)
  if (response.status === 503)
    return {
      text: `The database is unreachable (${reason}). Nothing is lost; this page goes on by itself when it answers. To see more:`,
      command: 'musette doctor',
    }
  if (response.status === 404) return { text: `The daemon answers: ${reason}.` }
  return { text: `The daemon could not answer (${reason}). This page tries again by itself.` }
}

async function readReason(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => undefined)
  if (typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string')
    return body.error
  return `status ${response.status}`
}

/** Shows in the page's frame that it is live, or the problem. */
export function showState(problem: Problem | undefined): void {
  const live = find('#live')
  const text = JSON.stringify(problem ?? null)
  // Written once: a screen reader would read it aloud again at every request.
  if (live.dataset.shown === text) return
  live.dataset.shown = text
  live.dataset.state = problem ? 'waiting' : 'live'
  live.textContent = problem ? 'Not live' : 'Live'
  refill(find('#problem'), problem && makeNotice(problem))
}

/** Makes a notice with its command or link. */
export function makeNotice({ text, calm, command, link }: Problem): HTMLElement {
  return make(
    'p',
    { class: calm ? 'notice calm' : 'notice' },
    `${text} `,
    command !== undefined && make('code', {}, command),
    link && make('a', { href: link.href }, link.text),
  )
}

/** Often enough that `1 min ago` is not wrong for long. */
const REFRESH_AGO_MS = 15_000

/** Makes the time since an instant or until it, as `5 min ago`; startAgoClock keeps it current. */
export function makeAgo(instant: string): HTMLTimeElement {
  const when = new Date(instant)
  return make('time', { datetime: instant, title: formatInstant(when) }, writeAgo(when))
}

/** Keeps all times of the page current. */
function startAgoClock(): void {
  setInterval(() => {
    for (const element of document.querySelectorAll('time')) {
      const text = writeAgo(new Date(element.dateTime))
      if (element.textContent !== text) element.textContent = text
    }
  }, REFRESH_AGO_MS)
}

function writeAgo(when: Date): string {
  const seconds = (Date.now() - when.getTime()) / 1_000
  if (Math.abs(seconds) < 10) return 'now'
  // One unit is enough; the title has the whole instant.
  const [count = '', unit = ''] = formatSpan(Math.abs(seconds)).split(' ')
  return seconds > 0 ? `${count} ${unit} ago` : `in ${count} ${unit}`
}
