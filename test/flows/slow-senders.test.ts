import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { eventually } from '../kit/eventually.ts'
import { openForAll } from '../kit/open-for.ts'
import { openWebRig, TOKEN } from '../program/web/rig.ts'

const rig = openForAll(() => openWebRig({ env: { MUSETTE_HTTP: '127.0.0.1:0', MUSETTE_HTTP_TOKEN: TOKEN } }))
const rigWithoutToken = openForAll(() => openWebRig())

/** Opens connections that send the beginning of a request and then nothing. */
function openSlow(count: number, text: string, { url } = rig) {
  const { hostname, port } = new URL(url)
  return Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname, () => socket.write(text))
    onTestFinished(() => void socket.destroy())
    let answer = ''
    socket.on('data', (bytes) => {
      answer += bytes
    })
    socket.on('error', () => undefined)
    return { socket, answer: () => answer, closed: () => socket.destroyed }
  })
}
const closedOf = (slow: ReturnType<typeof openSlow>) => slow.filter(({ closed }) => closed()).length

it('the web server ends stalled requests, and answers others meanwhile', async () => {
  const head = 'POST /login HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nContent-Length: 100\r\n'
  const posts = openSlow(50, `${head}Content-Type: application/x-www-form-urlencoded\r\n\r\nt`)
  const all = [...posts, ...openSlow(50, 'GET / HTTP/1.1\r\nHo'), ...openSlow(50, '')]
  expect(await rig.ask('/healthz')).toMatchObject({ status: 200 })
  await eventually(() => closedOf(all) === all.length, { what: 'the end of the slow connections' })
  // No request was refused for its content.
  expect(new Set(posts.map(({ answer }) => answer()))).toEqual(new Set(['']))
})

it('the web server limits its connections', async () => {
  const idle = openSlow(400, '')
  await eventually(() => closedOf(idle) >= 400 - 256, { what: 'the refusal of connections' })
  expect(400 - closedOf(idle)).toBeGreaterThan(200)
})

it('unauthenticated connections lock nobody out', async () => {
  const ask = (more = '') => `GET /healthz HTTP/1.1\r\nHost: x\r\n${more}\r\n`
  const [own] = openSlow(1, ask(`Authorization: Bearer ${TOKEN}\r\n`))
  if (own) await once(own.socket, 'data')
  const idle = [...openSlow(300, ''), ...openSlow(300, ask())]
  await eventually(() => closedOf(idle) >= 300, { what: 'the end of connections after their answer' })
  expect(closedOf(idle)).toBeLessThan(600)
  expect(await rig.ask('/healthz')).toMatchObject({ status: 200 })
  expect(own?.closed()).toBe(false)
})

const OWN = 'Host: 127.0.0.1\r\nSec-Fetch-Site: same-origin\r\n'
it.each([
  ['connections that send nothing', '', ''],
  ['connections with half a request', 'GET /healthz HTTP/1.1\r\nHo', ''],
  ['idle connections after an answer', `GET /healthz HTTP/1.1\r\n${OWN}\r\n`, 'alive'],
  [
    'requests without their body',
    `POST /mcp HTTP/1.1\r\n${OWN}Content-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n`,
    '100 Continue',
  ],
])('without a token, as many %s as the limit lock nobody out', async (_what, text, answer) => {
  const idle = openSlow(256, text, rigWithoutToken)
  const isThrough = (one: (typeof idle)[number]) => one.closed() || one.answer().includes(answer)
  await eventually(() => idle.every(isThrough), { what: 'the answers' })
  // Each request uses a new connection.
  const headers = { connection: 'close' }
  for (let times = 0; times < 5; times++)
    expect(await rigWithoutToken.ask('/healthz', { headers })).toMatchObject({ status: 200 })
  expect(closedOf(idle)).toBeLessThan(20)
})
