import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { listen } from '../../kit/listen.ts'

/** A response that repeats the secrets of its request wherever it has room. */
export type Echo = (said: string) => {
  status?: number
  headers?: Record<string, string>
  body: unknown
  /** ends the connection before the body is complete */
  short?: boolean
}

type Plan = Array<{ path: RegExp; echo: Echo; times?: number }>

/** Opens a proxy to the stand-in service at `url` that can turn hostile: it repeats every secret that it receives. */
export async function openHostile(url: string) {
  let plan: Plan = []
  let repeated = ''
  let answers = 0
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const path = new URL(request.url ?? '/', url).pathname
    const hostile = plan.find(({ path: own, times = answers + 1 }) => answers < times && own.test(path))
    if (!hostile) return pass(url, request, body, response)
    const said = whatWasSaid(request, body)
    repeated += said
    answers += 1
    const { status = 200, headers = {}, body: value, short } = hostile.echo(said)
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const type = typeof value === 'string' ? 'text/plain' : 'application/json'
    const length = Buffer.byteLength(text) + (short ? 100 : 0)
    response.writeHead(status, { 'content-type': type, 'content-length': length, ...headers })
    response.write(text, () => (short ? response.destroy() : response.end()))
  }
  const server = createServer((request, response) => {
    request.on('error', () => undefined)
    answer(request, response).catch(() => response.destroy())
  })
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    /** sets the hostile responses from now on, by path and at most `times` each; other requests are forwarded */
    become(next: Plan) {
      plan = next
      answers = 0
    },
    /** everything that it has received and repeated since the start */
    repeated: () => repeated,
    /** number of repeating responses since the last change of the plan */
    answers: () => answers,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Headers, form and query as received, and once more decoded; on one line, as a header requires. */
function whatWasSaid({ headers, url }: IncomingMessage, body: Buffer): string {
  const basic = Buffer.from((headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString('latin1')
  const form = body.length < 10_000 ? body.toString('latin1') : ''
  const parts = [headers.authorization, basic, form, new URLSearchParams(form).toString(), url]
  const plain = decodeURIComponent(form.replace(/%(?![0-9a-f]{2})/gi, '').replaceAll('+', ' '))
  return [...parts, plain].join(' ').replace(/[^\x20-\x7e]/g, ' ')
}

async function pass(url: string, request: IncomingMessage, body: Buffer, response: ServerResponse) {
  const method = request.method ?? 'GET'
  const answer = await fetch(new URL(request.url ?? '/', url), {
    method,
    headers: endToEnd(request.headers),
    redirect: 'manual',
    ...(method !== 'GET' && { body }),
  })
  const headers = Object.fromEntries(
    ['content-type', 'date'].map((name) => [name, answer.headers.get(name) ?? '']),
  )
  response.writeHead(answer.status, headers)
  response.end(Buffer.from(await answer.arrayBuffer()))
}

function endToEnd(headers: IncomingHttpHeaders): Record<string, string> {
  const kept = ['authorization', 'content-type', 'accept']
  return Object.fromEntries(kept.flatMap((name) => (headers[name] ? [[name, String(headers[name])]] : [])))
}

/** The paths that receive a token, and the path that issues tokens. */
export const DATA = /^\/oauth\/(?!token)/
export const TOKEN = /^\/oauth\/token$/
/** The response after which a token is refreshed. */
export const unauthorized: Echo = (said) => ({ status: 401, body: said })

/** Responses that repeat everything, by kind. */
export const ECHOES = {
  refusal: (said) => ({ status: 403, body: { success: false, error: said, message: said } }),
  failure: (said) => ({ status: 500, body: said }),
  limit: (said) => ({ status: 429, body: said, headers: { 'retry-after': '1', 'x-why': said } }),
  page: (said) => ({ body: `<html>${said}</html>`, headers: { 'content-type': 'text/html' } }),
  unsuccessful: (said) => ({ body: { success: false, error: said, message: said } }),
  cutJson: (said) => ({ body: `{"access_token":"${said}`, headers: { 'content-type': 'application/json' } }),
  shortBody: (said) => ({ body: `{"access_token":"${said}"`, short: true }),
  oddShape: (said) => ({
    body: { success: said, activities: said, workouts: said, access_token: said, [said]: said },
  }),
  redirect: (said) => ({
    status: 302,
    body: '',
    headers: { location: `https://elsewhere.invalid/?t=${encodeURIComponent(said)}` },
  }),
  endedGrant: (said) => ({ status: 400, body: { error: 'invalid_grant', error_description: said } }),
  refusedClient: (said) => ({ status: 401, body: { error: 'invalid_client', error_description: said } }),
} satisfies Record<string, Echo>
