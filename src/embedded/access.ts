import { randomBytes, randomInt } from 'node:crypto'
import { open, readFile, rename } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'

/** What is needed to connect: TCP port on 127.0.0.1 and the superuser's password (hexadecimal). */
export type Access = { port: number; password: string }

const FILE = 'postgres.json'

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
  const path = join(dataDir, FILE)
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(access)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
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
