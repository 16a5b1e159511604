/** Longer than a database takes to say that it is away. */
const ANSWER_WITHIN_MS = 20_000

/** What is wrong, for a person, and what helps: something to type, or a page to go to. `calm`: it passes by itself. */
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

/** Asks the daemon for JSON; `etag` is of the answer that is here already. Never throws. */
export async function ask<T>(path: string, etag?: string): Promise<Answer<T>> {
  try {
    const response = await fetch(path, {
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
  text: 'The daemon does not answer. This page asks again by itself. If the daemon does not run, start it:',
  command: 'musette start',
}

async function readProblem(response: Response): Promise<Problem> {
  if (response.status === 401) {
    const next = encodeURIComponent(location.pathname)
    return { text: 'Your session has ended.', link: { href: `/login?next=${next}`, text: 'Sign in again' } }
  }
  const reason = await readReason(response)
  if (response.status === 503)
    return {
      text: `The database is away (${reason}). Nothing is lost; this page goes on by itself when it answers. To see more:`,
      command: 'musette doctor',
    }
  if (response.status === 404) return { text: `The daemon answers: ${reason}.` }
  return { text: `The daemon could not answer (${reason}). This page asks again by itself.` }
}

async function readReason(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => undefined)
  if (typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string')
    return body.error
  return `status ${response.status}`
}
