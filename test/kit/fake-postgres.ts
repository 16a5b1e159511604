import { createServer, type Socket } from 'node:net'
import { listen } from './listen.ts'

/** What a program that pretends to be Postgres does when a client wants to sign in. */
export type Trick = 'cleartext' | 'md5' | 'accepts' | 'ready' | 'scram-unproved'

export type FakePostgres = {
  port: number
  /** how many clients have begun to sign in */
  clients(): number
  /** all that was received, as text */
  received(): string
  close(): Promise<void>
}

/** Opens a server that speaks enough of the protocol of Postgres to be told a password, and keeps what it is told. */
export async function openFakePostgres(trick: Trick): Promise<FakePostgres> {
  let received = ''
  let clients = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => {
      clients += 1
      socket.write(FIRST[trick])
      if (trick === 'scram-unproved') socket.once('data', () => socket.write(ACCEPTED))
    })
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
    })
  })
  const port = await listen(server)
  return {
    port,
    clients: () => clients,
    received: () => received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

const READY = message('Z', Buffer.from('I'))
const ACCEPTED = Buffer.concat([authentication(0), READY])
const FIRST: Record<Trick, Buffer> = {
  cleartext: Buffer.concat([authentication(3), ACCEPTED]),
  md5: Buffer.concat([authentication(5, Buffer.from('salt')), ACCEPTED]),
  accepts: ACCEPTED,
  ready: READY,
  'scram-unproved': authentication(10, Buffer.from('SCRAM-SHA-256\0\0')),
}

function authentication(kind: number, rest = Buffer.alloc(0)): Buffer {
  const number = Buffer.alloc(4)
  number.writeInt32BE(kind)
  return message('R', Buffer.concat([number, rest]))
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
