import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Lets a server listen on loopback, at a port that is free, and returns the port. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

/** Finds a port of loopback that is free, for a program that takes none by itself. */
export async function findFreePort(): Promise<number> {
  const server = createServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}
