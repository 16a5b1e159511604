import { createServer as createHttpServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createNetServer, type Socket } from 'node:net'

export type TestServer = { origin: string; close(): Promise<void> }

/** A TCP server that answers with whatever bytes `answer` writes, once the request's head has come. */
export async function openRawServer(answer: (socket: Socket, head: string) => void): Promise<TestServer> {
  const sockets = new Set<Socket>()
  const server = createNetServer((socket) => {
    sockets.add(socket)
    let head = ''
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      const before = head.includes('\r\n\r\n')
      head += chunk.toString('latin1')
      if (!before && head.includes('\r\n\r\n')) answer(socket, head)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: originOf(server.address()),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

/** A real HTTP server. */
export async function openHttpServer(listener: RequestListener): Promise<TestServer> {
  const server = createHttpServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: originOf(server.address()),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** Ends an HTTP answer with a JSON body. */
export function endJson(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(body))
}

function originOf(address: ReturnType<ReturnType<typeof createNetServer>['address']>): string {
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}`
}
