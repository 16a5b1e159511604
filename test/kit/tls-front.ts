import { readFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createSecureContext, TLSSocket } from 'node:tls'
import { listen } from './listen.ts'

/** The first message of a Postgres client that wants TLS: its length, and a code in place of a version. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

export type TlsFront = Awaited<ReturnType<typeof openTlsFront>>

/**
 * Opens a server that speaks TLS with the certificate in `dir` and passes everything to the server at `address`, which has no TLS. For
 * Postgres it waits for the TLS request of the client, and passes on a connection without one as it is.
 */
export async function openTlsFront(dir: string, address: string) {
  const [cert, key] = await Promise.all(['server.crt', 'server.key'].map((name) => readFile(join(dir, name))))
  const secureContext = createSecureContext({ cert, key })
  const target = new URL(address)
  const sockets = new Set<Socket>()
  let secured = 0
  const tls = createServer((socket) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const each of [socket, upstream]) {
      sockets.add(each)
      each.on('error', () => undefined)
      each.on('close', () => {
        sockets.delete(each)
        socket.destroy()
        upstream.destroy()
      })
    }
    const secure = () => {
      const secure = new TLSSocket(socket, { isServer: true, secureContext })
      secure.on('error', () => socket.destroy())
      secure.on('secure', () => {
        secured += 1
      })
      secure.pipe(upstream).pipe(secure)
    }
    if (!target.protocol.startsWith('postgres')) return secure()
    socket.once('data', (first) => {
      if (!first.equals(SSL_REQUEST)) {
        upstream.write(first)
        socket.pipe(upstream).pipe(socket)
        return
      }
      secure()
      socket.write('S')
    })
  })
  const port = await listen(tls)
  return {
    port,
    secured: () => secured,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => tls.close(resolve))
    },
  }
}
