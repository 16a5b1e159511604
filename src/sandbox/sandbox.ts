import { once } from 'node:events'
import { HOUR } from '../kit/time.ts'
import { serviceRoutes } from './api/routes.ts'
import { makeServer } from './http/server.ts'
import type { FurtherClient } from './oauth/clients.ts'
import { makeWorld } from './state/world.ts'
import { steeringRoutes } from './steer/routes.ts'

export type SandboxOptions = {
  /** 0 takes a free port. */
  port?: number
  /** How many activities the first rider has done. */
  activities?: number
  /** The same seed on the same day gives the same history. */
  seed?: number
  /** How long after an upload the samples are ready. */
  sampleDelayMs?: number
  accessTokenSeconds?: number
  /** Clients besides the public one and the demo application. */
  clients?: readonly FurtherClient[]
  now?: () => Date
}

export type Sandbox = { url: string; port: number; close(): Promise<void> }

/** The service says a week (Limits). */
const ACCESS_TOKEN_SECONDS = (7 * 24 * HOUR) / 1_000

/**
 * Starts the stand-in service on 127.0.0.1: the ten endpoints of the service document, and `/_sandbox/` to steer it.
 * Rejects with the system's error when the port is taken.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const world = makeWorld({
    activities: options.activities ?? 150,
    seed: options.seed ?? 1,
    sampleDelayMs: options.sampleDelayMs ?? 2_000,
    accessTokenSeconds: options.accessTokenSeconds ?? ACCESS_TOKEN_SECONDS,
    clients: options.clients ?? [],
    now: options.now ?? (() => new Date()),
  })
  const stopping = new AbortController()
  const place = { url: '', port: 0 }
  const routes = [...serviceRoutes, ...steeringRoutes]
  const server = makeServer({ world, routes, origin: () => place.url }, stopping.signal)
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  place.port = typeof address === 'object' && address ? address.port : 0
  place.url = `http://127.0.0.1:${place.port}`
  return {
    ...place,
    async close() {
      stopping.abort()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
