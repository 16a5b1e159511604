import { randomBytes, randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { writeDurably } from '../kit/durable-file.ts'
import { DATABASE, USER } from './cluster.ts'

/** What is needed to connect: TCP port on 127.0.0.1 and the superuser's password (hexadecimal). */
export type Access = { port: number; password: string }

const FILE = 'postgres.json'
const PASSWORD_FILE = 'postgres.pgpass'

// Below the range from which Linux and macOS take ports for outgoing connections, so that the port stays free
// between two runs.
const FIRST_PORT = 20_000
const LAST_PORT = 29_999
const PORT_ATTEMPTS = 50

/** Reads the access kept in `dataDir`; undefined when there is none or it is damaged. */
export async function readAccess(dataDir: string): Promise<Access | undefined> {
  let text: string
  try {
    text = await readFile(join(dataDir, FILE), 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  try {
    const { port, password } = JSON.parse(text)
    if (Number.isInteger(port) && /^[0-9a-f]{32,}$/.test(password)) return { port, password }
  } catch {
    // Damaged counts as lost: a new password is set at the next start.
  }
  return undefined
}

/** Keeps the access in `dataDir`, readable to the owner alone. */
export async function writeAccess(dataDir: string, access: Access): Promise<void> {
  await writeDurably(join(dataDir, FILE), `${JSON.stringify(access)}\n`)
}

/**
 * Writes the password for programs on libpq (psql, DuckDB, psycopg), readable to the owner alone, and returns the path of
 * the file. It names the port, so that no other server is given the password.
 */
export async function writePasswordFile(dataDir: string, access: Access): Promise<string> {
  const path = join(dataDir, PASSWORD_FILE)
  const line = `127.0.0.1:${access.port}:${DATABASE}:${USER}:${access.password}\n`
  if ((await readFile(path, 'utf8').catch(() => '')) !== line) await writeDurably(path, line)
  return path
}

/** Makes a random password, 192 bits in hexadecimal. */
export function makePassword(): string {
  return randomBytes(24).toString('hex')
}

/** Chooses a port that is free on 127.0.0.1: `preferred` when it is. */
export async function findFreePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isPortFree(preferred))) return preferred
  for (let attempt = 0; attempt < PORT_ATTEMPTS; attempt++) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1)
    if (await isPortFree(port)) return port
  }
  throw new Error(`found no free port between ${FIRST_PORT} and ${LAST_PORT}`)
}

/** Whether nothing listens on this port of 127.0.0.1. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
