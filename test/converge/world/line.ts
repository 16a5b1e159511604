import { createServer, connect as netConnect, type Socket } from 'node:net'
import { listen } from '../../kit/listen.ts'
import { isStatement, makeMessageReader } from './messages.ts'

/**
 * How the line to the database breaks at the statement number `at`, counted from 1: the statement is not sent; it is
 * done, but its answer is lost; or the server ends the connection, as it does when it restarts.
 */
type Cut = { at: number; how: 'unsent' | 'unanswered' | 'terminated' }

type Ends = { client: Socket; server: Socket; losesAnswer: boolean }

/** Opens a line between one process and the database of `url` that breaks at any statement; `terminate` ends every connection of the line at the server's side. */
export async function openLine(url: string, terminate: () => Promise<void>) {
  const target = new URL(url)
  const ends = new Set<Ends>()
  let planned: { cut: Cut; onCut: () => void } | undefined
  let count = 0
  let dead = false
  let terminating = Promise.resolve()

  const breakAll = () => {
    for (const { client, server } of ends) {
      client.destroy()
      server.destroy()
    }
    ends.clear()
  }
  const fire = () => {
    const onCut = planned?.onCut
    planned = undefined
    onCut?.()
    breakAll()
  }
  /** Sends a message on, unless the line breaks at it. */
  const pass = async (own: Ends, bytes: Buffer, counts: boolean) => {
    if (counts) count += 1
    if (!counts || !planned || planned.cut.at !== count) return void own.server.write(bytes)
    if (planned.cut.how === 'unsent') return fire()
    if (planned.cut.how === 'terminated') {
      const { onCut } = planned
      planned = undefined
      terminating = terminate()
      await terminating
      onCut()
    } else own.losesAnswer = true
    own.server.write(bytes)
  }

  const server = createServer((client) => {
    client.on('error', () => undefined)
    if (dead) return void client.destroy()
    const upstream = netConnect(Number(target.port), target.hostname)
    const own: Ends = { client, server: upstream, losesAnswer: false }
    ends.add(own)
    const read = makeMessageReader()
    let sent = Promise.resolve()
    client.setNoDelay(true)
    upstream.setNoDelay(true)
    client.on('data', (chunk: Buffer) => {
      for (const message of read(chunk)) {
        const counts = isStatement(message)
        sent = sent.then(() => pass(own, message.bytes, counts)).catch(() => undefined)
      }
    })
    upstream.on('data', (chunk: Buffer) => {
      if (own.losesAnswer) fire()
      else client.write(chunk)
    })
    upstream.on('error', () => client.destroy())
    upstream.on('close', () => client.end())
    client.on('close', () => {
      ends.delete(own)
      upstream.destroy()
    })
  })
  const own = new URL(url)
  own.hostname = '127.0.0.1'
  own.port = String(await listen(server))
  return {
    url: own.href,
    /** plans the next break; `onCut` hears of it as it happens */
    plan(cut: Cut, onCut: () => void) {
      count = 0
      planned = { cut, onCut }
    },
    /** takes a planned break back when it has not come, and waits for one under way */
    async unplan() {
      planned = undefined
      await terminating
    },
    /** breaks every connection and takes no new one */
    die() {
      dead = true
      breakAll()
    },
    async close() {
      dead = true
      breakAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
