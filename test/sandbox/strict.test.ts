import { describe, expect, it, onTestFinished } from 'vitest'
import { makeRide } from '../kit/ride.ts'
import { openClient } from './client.ts'

const FORM = 'application/x-www-form-urlencoded'
const PUBLIC = { client_id: 'service_public', client_secret: 'service_public' }
const PASSWORD = { grant_type: 'password', username: 'rider', password: 'rider' }
const BASIC = `Basic ${btoa('service_public:service_public')}`
const ENCODED = `Basic ${btoa('service%5Fpublic:service%5Fpublic')}`

type Client = Awaited<ReturnType<typeof openClient>>

async function open(isStrict: boolean) {
  const said: string[] = []
  const strict = isStrict ? (what: string) => void said.push(what) : undefined
  const client = await openClient({ activities: 3, longestActivitySeconds: 60, strict })
  onTestFinished(() => client.sandbox.close())
  const deviations = async () => (await client.steer('GET', 'deviations')).body.deviations
  return { client, said, deviations }
}

const post = (client: Client, form: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${client.sandbox.url}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': FORM, ...headers },
    body: new URLSearchParams(form).toString(),
  })
const read = async (client: Client, path: string) =>
  fetch(`${client.sandbox.url}${path}`, { headers: { authorization: `Bearer ${await client.signIn()}` } })

/** The client's deviation, the answers of the lenient and of the strict sandbox, and what the strict sandbox reports. */
const DEVIATIONS: ReadonlyArray<
  [what: string, act: (client: Client) => Promise<Response>, lenient: number, strict: number, told: string[]]
> = [
  ['nothing more', (client) => post(client, PASSWORD, { authorization: BASIC }), 200, 200, []],
  [
    'its credentials in the form',
    (client) => post(client, { ...PASSWORD, ...PUBLIC }),
    200,
    400,
    [
      'POST /oauth/token: the form field client_id',
      'POST /oauth/token: the form field client_secret',
      'POST /oauth/token: client credentials that do not come by HTTP Basic',
    ],
  ],
  [
    'its credentials percent-encoded',
    (client) => post(client, PASSWORD, { authorization: ENCODED }),
    200,
    400,
    ['POST /oauth/token: client credentials with percent signs'],
  ],
  [
    'a scope',
    (client) => post(client, { ...PASSWORD, scope: 'basic' }, { authorization: BASIC }),
    200,
    200,
    ['POST /oauth/token: the form field scope'],
  ],
  [
    'its token in the query',
    async (client) => fetch(`${client.sandbox.url}/oauth/workouts?access_token=${await client.signIn()}`),
    200,
    401,
    ['GET /oauth/workouts: the query parameter access_token'],
  ],
  [
    'a page of the list',
    (client) => read(client, '/oauth/activity?from=0&to=2000000000&page=2'),
    200,
    200,
    ['GET /oauth/activity: the query parameter page'],
  ],
  [
    'a request to an unknown address',
    (client) => read(client, '/oauth/athlete'),
    404,
    404,
    ['GET: an address or method without an endpoint'],
  ],
]

describe('a strict sandbox', () => {
  it.each(DEVIATIONS)(
    'answers a client that sends %s, and reports what the document lacks',
    async (_, act, lenient, strict, told) => {
      for (const isStrict of [false, true]) {
        const { client, said, deviations } = await open(isStrict)
        for (const _time of [1, 2]) expect((await act(client)).status).toBe(isStrict ? strict : lenient)
        expect(said).toEqual(isStrict ? told : [])
        expect(await deviations()).toEqual(Object.fromEntries(said.map((what) => [what, 2])))
      }
    },
  )

  it('reports an undocumented part of an upload', async () => {
    const { client, said } = await open(true)
    const form = new FormData()
    form.set('file', new Blob([new Uint8Array(makeRide())]), 'ride.fit')
    for (const name of ['name', 'private']) form.set(name, 'x')
    const headers = { authorization: `Bearer ${await client.signIn()}` }
    const answer = await fetch(`${client.sandbox.url}/oauth/upload`, { method: 'POST', headers, body: form })
    expect(await answer.json()).toMatchObject({ success: true })
    expect(said).toEqual(['POST /oauth/upload: the part private'])
  })

  it('sends only the fields of the document', async () => {
    const { client } = await open(true)
    const token = await client.signIn()
    const { body: list } = await client.get('/oauth/activity?from=0&to=2000000000', token)
    const [{ path }] = list.activities as [{ path: string }]
    const { body } = await client.get(`/oauth/activity/${path}?include_session_data=1`, token)
    const [second] = body.session_data as [object]
    expect(Object.keys(second).sort().join(' ')).toBe(
      'alt cad dist hr lat lng mpa power spd tgt tws unix_time xds',
    )
    const { session, progression, ...summary } = body.summary as Record<string, object>
    expect(summary).not.toHaveProperty('power_source')
    expect([session, progression].map((part) => Object.keys(part ?? {}))).toEqual([
      ['max_power', 'avg_power', 'max_cadence', 'total_elevation_gain', 'total_calories'],
      ['date', 'tl', 'rl', 'form'],
    ])
    const { body: workouts } = await client.get('/oauth/workout')
    const [workout] = workouts.workouts as [object]
    expect(Object.keys(workout)).toEqual(['path', 'name', 'description', 'last_modified'])
  })
})
