import { createServer as createHttpServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createNetServer, type Socket } from 'node:net'
import { listen } from '../../kit/listen.ts'

export type TestServer = { origin: string; close(): Promise<void> }

/** Opens a TCP server that answers with any bytes that `answer` writes, once it has received the request's head. */
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
  const port = await listen(server)
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

/** Opens a real HTTP server. */
export async function openHttpServer(listener: RequestListener): Promise<TestServer> {
  const server = createHttpServer(listener)
  const port = await listen(server)
  return {
    origin: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** Ends an HTTP response with a JSON body. */
export function endJson(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(body))
}
