import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listen } from './listen.ts'

/** A request that a receiver got. */
export type Received = { path: string; headers: IncomingMessage['headers']; text: string; at: number }

export type Receiver = Awaited<ReturnType<typeof openReceiver>>

export type Answering = (response: ServerResponse, received: Received) => void

/** Opens a loopback server that keeps the requests it gets. It answers 204 unless `answer` does otherwise. */
export async function openReceiver(answer: Answering = (response) => response.writeHead(204).end()) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const one = { path: request.url ?? '', headers: request.headers, text, at: Date.now() }
    received.push(one)
    answer(response, one)
  })
  const port = await listen(server)
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  // Requests that were answered with an error are also in `received`.
  return { url: `http://127.0.0.1:${port}`, received, close }
}
