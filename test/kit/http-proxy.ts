import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { listen } from './listen.ts'

/** Opens an HTTP proxy that tunnels (CONNECT) every host to `target`. Without the right password it answers 407. */
export async function openHttpProxy(target: string) {
  const tunnels: string[] = []
  const sockets = new Set<Socket>()
  const authorization = `Basic ${Buffer.from('rider:proxy-secret').toString('base64')}`
  const server = createServer((_request, response) => response.writeHead(405).end())
  server.on('connect', (request, socket) => {
    socket.on('error', () => undefined)
    if (request.headers['proxy-authorization'] !== authorization)
      return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    tunnels.push(request.url ?? '')
    const { hostname, port } = new URL(target)
    const upstream = connect(Number(port), hostname, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
    for (const one of [upstream, socket as Socket]) sockets.add(one)
    upstream.on('error', () => socket.destroy())
    upstream.pipe(socket).pipe(upstream)
  })
  const port = await listen(server)
  return {
    /** URL with the required user and password */
    url: `http://rider:proxy-secret@127.0.0.1:${port}`,
    /** hosts and ports for which tunnels were opened */
    tunnels,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
