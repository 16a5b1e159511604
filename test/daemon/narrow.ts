import { createServer, connect as netConnect, type Socket } from 'node:net'
import { listen } from '../kit/listen.ts'

/** A way to the service on which uploads can get stuck: nothing more is read of them. */
export type Narrow = {
  url: string
  /** from now on a connection on which an upload begins is not read any further */
  stick(): void
  /** how many uploads are stuck */
  stuck(): number
  /** lets everything through again; what was stuck is gone */
  free(): void
  close(): Promise<void>
}

/** Opens a way to the service at `url`. */
export async function openNarrow(url: string): Promise<Narrow> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const stuck = new Set<Socket>()
  let sticks = false
  const server = createServer((client) => {
    const upstream = netConnect(Number(target.port), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        stuck.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    upstream.on('data', (chunk) => void client.write(chunk))
    client.on('data', (chunk: Buffer) => {
      if (!sticks || !chunk.includes('POST /oauth/upload')) return void upstream.write(chunk)
      stuck.add(client)
      client.pause()
    })
  })
  const port = await listen(server)
  const free = () => {
    sticks = false
    for (const socket of stuck) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${port}`,
    stick() {
      sticks = true
    },
    stuck: () => stuck.size,
    free,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
