import { type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts'

/** A clock that stands still until a test moves it. */
function makeClock() {
  let at = Date.parse('2026-03-12T09:00:00Z')
  return {
    now: () => new Date(at),
    turn: (ms: number) => {
      at += ms
    },
  }
}

export const PUBLIC = basic('service_public:service_public')
export const DEMO = basic('demo_app:demo_secret')

export function basic(pair: string): string {
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

export type Body = Record<string, unknown>
export type Answer<T = Body> = { status: number; headers: Headers; body: T }

export type TestClient = Awaited<ReturnType<typeof openClient>>

/** Starts a sandbox with its own clock, and makes the calls that a client makes. */
export async function openClient(options: SandboxOptions = {}) {
  const clock = makeClock()
  const sandbox = await startSandbox({ activities: 20, now: clock.now, ...options })
  const call = async <T = Body>(path: string, init: RequestInit): Promise<Answer<T>> => {
    const response = await fetch(`${sandbox.url}${path}`, init)
    const { status, headers } = response
    return { status, headers, body: JSON.parse((await response.text()) || '{}') as T }
  }
  const token = (form: Record<string, string>, authorization = PUBLIC) =>
    call('/oauth/token', { method: 'POST', headers: { authorization }, body: new URLSearchParams(form) })
  return {
    sandbox,
    clock,
    token,
    signIn: async (username = 'rider') => {
      const answer = await token({ grant_type: 'password', username, password: username })
      return String(answer.body.access_token)
    },
    get: <T = Body>(path: string, bearer?: string) =>
      call<T>(path, bearer ? { headers: { authorization: `Bearer ${bearer}` } } : {}),
    steer: <T = Body>(method: string, path: string, body?: unknown) =>
      call<T>(`/_sandbox/${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
    upload: (bearer: string, bytes: Uint8Array, input: { fileName?: string; name?: string } = {}) => {
      const form = new FormData()
      form.set('file', new Blob([new Uint8Array(bytes)]), input.fileName ?? 'ride.fit')
      if (input.name !== undefined) form.set('name', input.name)
      return call('/oauth/upload', {
        method: 'POST',
        headers: { authorization: `Bearer ${bearer}` },
        body: form,
      })
    },
  }
}

export type ListEntry = { path: string; name: string; description: string | null; activity_type: string } & {
  start_date: { date: string; timezone_type: number; timezone: string }
}

/** Lists all activities, or those updated since a moment. */
export async function listAll(client: TestClient, token: string, more = ''): Promise<ListEntry[]> {
  const path = `/oauth/activity?from=0&to=4102444800${more}`
  return (await client.get<{ activities: ListEntry[] }>(path, token)).body.activities
}
