import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { orMissing, writeDurably } from '../kit/files.ts'
import { parseIfJson } from '../kit/json.ts'
import { DATABASE, USER } from './cluster.ts'

/** The data for a connection: TCP port on 127.0.0.1 and the superuser's password (hexadecimal). */
export type Access = { port: number; password: string }

const FILE = 'postgres.json'
const PASSWORD_FILE = 'postgres.pgpass'

// Below the range that Linux and macOS use for outgoing connections, so that the port stays free between two runs.
const FIRST_PORT = 20_000
const LAST_PORT = 29_999
const PORT_ATTEMPTS = 50

/** Reads the access stored in `dataDir`, or undefined if the file is missing or damaged. */
export async function readAccess(dataDir: string): Promise<Access | undefined> {
  const text = await readFile(join(dataDir, FILE), 'utf8').catch(orMissing)
  // A missing or damaged file counts as lost: the next start sets a new password.
  const { port, password } = Object(parseIfJson(text ?? ''))
  return Number.isInteger(port) && /^[0-9a-f]{32,}$/.test(password) ? { port, password } : undefined
}

/** Stores the access in `dataDir`, readable only by the owner. */
export async function writeAccess(dataDir: string, access: Access): Promise<void> {
  await writeDurably(join(dataDir, FILE), `${JSON.stringify(access)}\n`)
}

/**
 * Writes the password file for programs that use libpq (psql, DuckDB, psycopg), readable only by the owner, and returns its path. The file
 * names the port, so that the password is sent to no other server.
 */
export async function writePasswordFile(dataDir: string, access: Access): Promise<string> {
  const path = join(dataDir, PASSWORD_FILE)
  const line = `127.0.0.1:${access.port}:${DATABASE}:${USER}:${access.password}\n`
  if ((await readFile(path, 'utf8').catch(() => '')) !== line) await writeDurably(path, line)
  return path
}

/** Chooses a free port on 127.0.0.1 by listening on it for a moment; chooses `preferred` if that port is free. */
export async function chooseFreePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isPortFree(preferred))) return preferred
  for (let attempt = 0; attempt < PORT_ATTEMPTS; attempt++) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1)
    if (await isPortFree(port)) return port
  }
  throw new Error(`found no free port between ${FIRST_PORT} and ${LAST_PORT}`)
}

/** Reports whether nothing listens on this port of 127.0.0.1. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
