import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Notice, type Problem } from './parts.tsx'
import { find, ROOT, sessionHeaders } from './root.ts'

/** Maximum pause between requests while a problem lasts, ms. */
const MAX_PAUSE_MS = 15_000
/** Pause of a hidden page, ms; showing the page ends the pause. */
const HIDDEN_PAUSE_MS = 3_600_000

/** Renders a response. If the callback returns a problem, the page also shows the problem, and the next poll passes the same response again. */
// biome-ignore lint/suspicious/noConfusingVoidType: most pages only draw
type OnData<T> = (data: T) => Problem | undefined | void | Promise<Problem | undefined | void>

/**
 * Polls `path` and redraws with each new response. Returns the newest response, undefined before the first response. Calls `more` with each
 * response.
 */
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

/** Reuses the equal parts of an earlier response, so that their charts are not drawn again. */
function keepEqualParts<T extends object>(before: T | undefined, now: T): T {
  const known = new Map(Object.entries(before ?? {}))
  const parts = Object.entries(now).map(([key, value]) => {
    const earlier = known.get(key)
    return [key, JSON.stringify(earlier) === JSON.stringify(value) ? earlier : value]
  })
  return Object.fromEntries(parts) as T
}

/**
 * Polls `path` until `signal` aborts, one request at a time, and passes every new response to `onData`. Pauses while the page is hidden,
 * and sends a request at once when the page is shown again. The page's frame shows whether polling works, or the problem that `onData`
 * returns; in that case the same response is passed again.
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
    // Shows login problems before the contents, because the contents would otherwise move down later.
    if (login) showState(login, false)
    const shown = answer.kind === 'data' ? await onData(answer.data) : undefined
    const problem = answer.kind === 'problem' ? answer.problem : shown || undefined
    if (signal.aborted) return
    if (answer.kind === 'data' && !problem) etag = answer.etag
    if (problem) showState(problem)
    else showState(login, false)
    // The daemon would refuse the same request again.
    if (answer.kind === 'problem' && answer.isFinal) return
    problems = problem ? problems + 1 : 0
    await pause(Math.min(Math.max(everyMs, MAX_PAUSE_MS), everyMs * 1.5 ** problems))
  }
}

/** Waits; returns early when the page is hidden or shown, or when the network is back. */
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

/** Timeout of a request, ms: longer than the daemon needs to notice an unreachable database. */
const ANSWER_WITHIN_MS = 20_000

/** The outcome of a request. `login`: the problems of logins, which are part of every response. */
export type Answer<T> =
  | { kind: 'data'; data: T; etag: string | undefined; login: readonly Problem[] | undefined }
  | { kind: 'same'; login: readonly Problem[] | undefined }
  | { kind: 'problem'; problem: Problem; isFinal?: boolean }

/** Fetches JSON from the daemon; `etag` is the ETag of the last response. Never throws. */
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

/** Fetches JSON once; on a problem, shows it and returns undefined. */
export async function fetchOnce<T>(path: string): Promise<T | undefined> {
  const answer = await fetchJson<T>(path)
  if (answer.kind === 'problem') showState(answer.problem)
  return answer.kind === 'data' ? answer.data : undefined
}

const UNREACHABLE: Problem = {
  text: 'The daemon does not answer. This page keeps trying. If the daemon is not running, start it:',
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
      text: `Not available now: ${reason}. Nothing is lost, and this page keeps trying. For details, run:`,
      command: 'musette doctor',
    }
  if (response.status === 404 || response.status === 400)
    return {
      text: `The daemon found nothing for this address: ${reason}.`,
      link: { to: location.pathname.slice(ROOT.length), text: 'Open the page with its defaults' },
    }
  return { text: `The daemon failed to answer (${reason}). This page keeps trying.` }
}

/** Sends a POST request to the daemon; returns undefined if the connection fails. */
export async function send(path: string, body?: Blob): Promise<Response | undefined> {
  const headers = { ...sessionHeaders(), ...(body && { 'content-type': 'application/octet-stream' }) }
  return await fetch(ROOT + path, { method: 'POST', headers, ...(body && { body }) }).catch(() => undefined)
}

/** Downloads a file by script, because the browser's own download does not send the session key; shows a problem if it fails. */
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
    showState({ text: 'The download failed. Try again.' })
  }
}

/** Reads the message of an error response. */
export async function readReason(response: Response): Promise<string> {
  const { error } = Object(await response.json().catch(() => undefined))
  return typeof error === 'string' ? error : `status ${response.status}`
}

/** Shows in the page's frame that the page is live, or its problems; `isEmpty` adds the page's name until its contents arrive. */
export function showState(
  problem: Problem | readonly Problem[] | undefined,
  isEmpty = document.querySelector('main h1') === null,
): void {
  const live = find('#live')
  const text = problem ? 'Not live' : 'Live'
  live.dataset.state = problem ? 'waiting' : 'live'
  // Writes the text only if it changes, because a screen reader reads each write aloud.
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
