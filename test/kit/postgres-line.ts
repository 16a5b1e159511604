import { createServer, connect as netConnect, type Socket } from 'node:net'
import { listen } from './listen.ts'

/** A TCP proxy in front of a server. It can be cut (refuses connections) or silent (passes no requests). */
export type Line = Awaited<ReturnType<typeof openLine>>

/** Opens a proxy to the database of `url`. It passes answers on in pieces of at most `most` bytes. */
export async function openLine(url: string, most = Number.POSITIVE_INFINITY) {
  let target = new URL(url)
  const pairs = new Set<readonly [Socket, Socket]>()
  const swallowed = new Set<readonly [Socket, Socket]>()
  let state: 'good' | 'cut' | 'silent' = 'good'
  const breakAll = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
  }
  const server = createServer((client) => {
    client.setNoDelay(true).on('error', () => undefined)
    if (state === 'cut') return void client.destroy()
    const upstream = netConnect(Number(target.port), target.hostname)
    const pair = [client, upstream] as const
    pairs.add(pair)
    client.on('data', (chunk) => void (state === 'silent' || swallowed.has(pair) || upstream.write(chunk)))
    upstream.on('data', async (chunk) => {
      if (swallowed.has(pair)) return
      if (most >= chunk.length) return void client.write(chunk)
      upstream.pause()
      for (let at = 0; at < chunk.length; at += most) {
        client.write(chunk.subarray(at, at + most))
        // Without a pause the reader gets many pieces at once. Only the end needs pauses; more would take too long.
        if (chunk.length - at < 500) await new Promise(setImmediate)
      }
      upstream.resume()
    })
    upstream.on('error', () => client.destroy())
    upstream.on('close', () => swallowed.has(pair) || client.destroy())
    client.on('close', () => {
      if (swallowed.has(pair)) return
      pairs.delete(pair)
      upstream.destroy()
    })
  })
  const own = new URL(url)
  own.hostname = '127.0.0.1'
  own.port = String(await listen(server))
  return {
    url: own.href,
    become(next: typeof state) {
      // Requests that arrived while it was silent are lost.
      if (next === 'cut' || state === 'silent') breakAll()
      state = next
    },
    /** stops passing data of open connections in both directions, without closing them; new connections work */
    swallow() {
      for (const pair of pairs) swallowed.add(pair)
    },
    /** leads new connections to the server of `url`; open connections stay */
    moveTo(next: string) {
      target = new URL(next)
    },
    async close() {
      state = 'cut'
      breakAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
