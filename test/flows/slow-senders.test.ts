import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../kit/eventually.ts'
import { openWebRig, TOKEN, type WebRig } from '../program/web/rig.ts'

let rig: WebRig
beforeAll(async () => {
  rig = await openWebRig({ env: { MUSETTE_HTTP: '127.0.0.1:0', MUSETTE_HTTP_TOKEN: TOKEN } })
})
afterAll(() => rig.close())

/** Opens a connection that sends the beginning of a request and then nothing. */
function openSlow(text: string): { socket: Socket; answer: () => string; closed: () => boolean } {
  const { hostname, port } = new URL(rig.url)
  let isClosed = false
  let answer = ''
  const socket = connect(Number(port), hostname, () => socket.write(text))
  socket.on('data', (bytes) => {
    answer += bytes
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    isClosed = true
  })
  return { socket, answer: () => answer, closed: () => isClosed }
}

it('the web server ends stalled requests, and answers others meanwhile', async () => {
  const head = 'POST /login HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nContent-Length: 100\r\n'
  const type = 'Content-Type: application/x-www-form-urlencoded'
  const slow = Array.from({ length: 50 }, () => openSlow(`${head}${type}\r\n\r\nt`))
  const silent = Array.from({ length: 50 }, () => openSlow('GET / HTTP/1.1\r\nHo'))
  const mute = Array.from({ length: 50 }, () => openSlow(''))
  expect(await rig.ask('/healthz')).toMatchObject({ status: 200 })
  await eventually(async () => [...slow, ...silent, ...mute].every(({ closed }) => closed()), {
    what: 'the end of the slow connections',
  })
  // None was refused for what it sent.
  expect(new Set(slow.map(({ answer }) => answer()))).toEqual(new Set(['']))
})

it('the web server limits its connections', async () => {
  const idle = Array.from({ length: 400 }, () => openSlow(''))
  try {
    await eventually(async () => idle.filter(({ closed }) => closed()).length >= 400 - 256, {
      what: 'the refusal of connections',
    })
    expect(idle.filter(({ closed }) => !closed()).length).toBeGreaterThan(200)
  } finally {
    for (const { socket } of idle) socket.destroy()
  }
})

it('unauthenticated connections lock nobody out', async () => {
  const ask = (more = '') => `GET /healthz HTTP/1.1\r\nHost: x\r\n${more}\r\n`
  const own = openSlow(ask(`Authorization: Bearer ${TOKEN}\r\n`))
  await once(own.socket, 'data')
  const idle = ['', ask()].flatMap((text) => Array.from({ length: 300 }, () => openSlow(text)))
  try {
    await eventually(async () => idle.filter(({ closed }) => closed()).length >= 300, {
      what: 'the end of connections after their answer',
    })
    expect(idle.some(({ closed }) => !closed())).toBe(true)
    expect(await rig.ask('/healthz')).toMatchObject({ status: 200 })
    expect(own.closed()).toBe(false)
  } finally {
    for (const { socket } of [own, ...idle]) socket.destroy()
  }
})
