import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Notice, type Problem } from './parts.tsx'
import { find, ROOT, sessionHeaders } from './root.ts'

/** While a problem lasts, requests slow down to one in this time. */
const MAX_PAUSE_MS = 15_000
/** A page that is shown ends the pause. */
const HIDDEN_PAUSE_MS = 3_600_000

/** Shows an answer. When it returns a problem, that is shown too, and the same answer is passed again. */
// biome-ignore lint/suspicious/noConfusingVoidType: most pages only draw
type OnData<T> = (data: T) => Problem | undefined | void | Promise<Problem | undefined | void>

/** Returns the newest answer of `path` and draws the page with each new one; undefined before the first. `more` is called with each. */
export function useLive<T extends object>(path: string, everyMs: number, more?: OnData<T>): T | undefined {
  const [view, setView] = useState<T>()
  useEffect(() => {
    const left = new AbortController()
    const onData = (data: T) => {
      setView((before) => keepEqualParts(before, data))
      return more?.(data)
    }
    void follow<T>(() => path, { everyMs, onData, signal: left.signal })
    return () => left.abort()
  }, [path, everyMs])
  return view
}

/** Reuses the equal parts of an earlier answer, so that charts of them are not drawn again. */
function keepEqualParts<T extends object>(before: T | undefined, now: T): T {
  const known = new Map(Object.entries(before ?? {}))
  const parts = Object.entries(now).map(([key, value]) => {
    const earlier = known.get(key)
    return [key, JSON.stringify(earlier) === JSON.stringify(value) ? earlier : value]
  })
  return Object.fromEntries(parts) as T
}

/**
 * Fetches `path`, one request at a time, until `signal`, and passes every new answer to `onData`. Pauses while the page is hidden, and
 * fetches at once when it is shown again. The page's frame shows whether that works, or the problem that `onData` returns; then the same
 * answer is passed again.
 */
export async function follow<T>(
  path: () => string,
  { everyMs, onData, signal }: { everyMs: number; onData: OnData<T>; signal: AbortSignal },
): Promise<void> {
  let etag: string | undefined
  let last: string | undefined
  let problems = 0
  for (;;) {
    while (document.hidden) await pause(HIDDEN_PAUSE_MS)
    if (signal.aborted) return
    const now = path()
    const answer = await fetchJson<T>(now, now === last ? etag : undefined)
    if (signal.aborted) return
    last = now
    const login = answer.kind === 'problem' ? undefined : answer.login
    // Shown before the contents, which would move down.
    if (login) showState(login, false)
    const shown = answer.kind === 'data' ? await onData(answer.data) : undefined
    const problem = answer.kind === 'problem' ? answer.problem : shown || undefined
    if (signal.aborted) return
    if (answer.kind === 'data' && !problem) etag = answer.etag
    if (problem) showState(problem)
    else showState(login, false)
    // The same request would be refused again.
    if (answer.kind === 'problem' && answer.isFinal) return
    problems = problem ? problems + 1 : 0
    await pause(Math.min(Math.max(everyMs, MAX_PAUSE_MS), everyMs * 1.5 ** problems))
  }
}

/** Ends early when the page is hidden or shown, or the network is back. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const ended = new AbortController()
    const end = () => {
      ended.abort()
      resolve()
    }
    setTimeout(end, ms)
    document.addEventListener('visibilitychange', end, { signal: ended.signal })
    addEventListener('online', end, { signal: ended.signal })
  })
}

/** Longer than the daemon needs to notice an unreachable database. */
const ANSWER_WITHIN_MS = 20_000

/** `login`: the faults of logins, which are part of every answer. */
export type Answer<T> =
  | { kind: 'data'; data: T; etag: string | undefined; login: readonly Problem[] | undefined }
  | { kind: 'same'; login: readonly Problem[] | undefined }
  | { kind: 'problem'; problem: Problem; isFinal?: boolean }

/** Fetches JSON from the daemon; `etag` is the last answer's. Never throws. */
export async function fetchJson<T>(path: string, etag?: string): Promise<Answer<T>> {
  try {
    const response = await fetch(ROOT + path, {
      cache: 'no-store',
      headers: { accept: 'application/json', ...sessionHeaders(), ...(etag && { 'if-none-match': etag }) },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    const header = response.headers.get('x-musette-login')
    const login = header === null ? undefined : (JSON.parse(decodeURIComponent(header)) as Problem[])
    if (response.status === 304) return { kind: 'same', login }
    const newEtag = response.headers.get('etag') ?? undefined
    if (response.ok) return { kind: 'data', data: await response.json(), etag: newEtag, login }
    const isFinal = response.status === 400 || response.status === 404
    return { kind: 'problem', problem: await readProblem(response), isFinal }
  } catch {
    return { kind: 'problem', problem: UNREACHABLE }
  }
}

/** Fetches JSON once; shows a problem and returns undefined if there is one. */
export async function fetchOnce<T>(path: string): Promise<T | undefined> {
  const answer = await fetchJson<T>(path)
  if (answer.kind === 'problem') showState(answer.problem)
  return answer.kind === 'data' ? answer.data : undefined
}

const UNREACHABLE: Problem = {
  text: 'The daemon does not answer. This page tries again by itself. If the daemon does not run, start it:',
  command: 'musette start',
}

async function readProblem(response: Response): Promise<Problem> {
  if (response.status === 401) {
    const next = encodeURIComponent(location.pathname.slice(ROOT.length) + location.search)
    return { text: 'Your session has ended.', link: { to: `/login?next=${next}`, text: 'Sign in again' } }
  }
  const reason = await readReason(response)
  if (response.status === 503)
    return {
      text: `Not now: ${reason}. Nothing is lost, and this page goes on by itself. To see more:`,
      command: 'musette doctor',
    }
  if (response.status === 404 || response.status === 400)
    return {
      text: `The daemon has nothing at this address: ${reason}.`,
      link: { to: location.pathname.slice(ROOT.length), text: 'Open the page without it' },
    }
  return { text: `The daemon could not answer (${reason}). This page tries again by itself.` }
}

/** Sends something to the daemon; undefined when the connection is cut. */
export async function send(path: string, body?: Blob): Promise<Response | undefined> {
  const headers = { ...sessionHeaders(), ...(body && { 'content-type': 'application/octet-stream' }) }
  return await fetch(ROOT + path, { method: 'POST', headers, ...(body && { body }) }).catch(() => undefined)
}

/** Downloads a file by a script, because the browser's own download has no key of the session; shows a problem. */
export async function download(event: Event): Promise<void> {
  const link = (event.target as Element).closest<HTMLAnchorElement>('a[download]')
  const headers = sessionHeaders()
  if (!link || link.protocol === 'blob:' || Object.keys(headers).length === 0) return
  event.preventDefault()
  try {
    const response = await fetch(link.href, { headers })
    if (!response.ok) return showState(await readProblem(response))
    const name = /filename\*=UTF-8''(\S+)/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? ''
    const href = URL.createObjectURL(await response.blob())
    Object.assign(document.createElement('a'), { href, download: decodeURIComponent(name) }).click()
    setTimeout(() => URL.revokeObjectURL(href), MAX_PAUSE_MS)
  } catch {
    showState({ text: 'The download broke off. Try it again.' })
  }
}

/** Reads the sentence of an error. */
export async function readReason(response: Response): Promise<string> {
  const { error } = Object(await response.json().catch(() => undefined))
  return typeof error === 'string' ? error : `status ${response.status}`
}

/** Shows in the page's frame that it is live, or the problems; with the page's name before its contents are here. */
export function showState(
  problem: Problem | readonly Problem[] | undefined,
  isEmpty = document.querySelector('main h1') === null,
): void {
  const live = find('#live')
  const text = problem ? 'Not live' : 'Live'
  live.dataset.state = problem ? 'waiting' : 'live'
  // Written once, because a screen reader reads each change aloud.
  if (live.textContent !== text) live.textContent = text
  if (problem && isEmpty) document.querySelector('.waiting')?.remove()
  render(
    problem && (
      <>
        {isEmpty && <h1>{document.title.split(' · ')[0]}</h1>}
        {[problem].flat().map((one) => (
          <Notice key={one.text} {...one} />
        ))}
      </>
    ),
    find('#problem'),
  )
}
