import { join } from 'node:path'
import type { Logger } from 'pino'
import { ConfigError, errorLine } from '../kit/errors.ts'
import { type Backoff, backoffMs, MINUTE, SECOND, sleep } from '../kit/time.ts'

import { type Access, findFreePort, isPortFree, makePassword, readAccess, writeAccess } from './access.ts'
import { findBinaryPackage, openBinaries } from './binaries.ts'
import { makeCluster, makeUrl, setPassword } from './cluster.ts'
import type { Ownership } from './ownership.ts'
import { stopOrphans } from './processes.ts'
import { findRunAs } from './run-as.ts'
import { type Server, startServer, waitUntilReady } from './server.ts'

export type OwnedServer = { url: string; close(): Promise<void> }

type Launched = { server: Server; access: Access }

/** The server dies of a full disk or the kernel's memory shortage; both take a while to pass. */
const RELAUNCH: Backoff = { firstMs: 200, maxMs: 30 * SECOND, factor: 2 }
/** Having run this long, the next death is a new story. */
const SETTLED_MS = MINUTE
/** Another program can take the port between our look and the server's start, but hardly thrice. */
const PORT_ATTEMPTS = 5

/**
 * Runs the server of `dataDir` until `close`, starting it again whenever it dies, on the same port. The caller holds
 * the ownership, which `close` gives back, as does a failed start. A `port` asked for that is taken is a ConfigError.
 */
export async function openOwnedServer(
  deps: { log: Logger; ownership: Ownership; signal?: AbortSignal },
  input: { dataDir: string; port?: number },
): Promise<OwnedServer> {
  const { log, ownership } = deps
  const begun = Date.now()
  const closing = new AbortController()
  try {
    const launch = await prepare(input.dataDir)
    const launched = await launchFirst(deps, { ...launch, ...input })
    const url = makeUrl(launched.access)
    log.info({ port: launched.access.port, ms: Date.now() - begun }, 'embedded Postgres is ready')
    const relaunch = () => startServer({ ...launch, dataDir: input.dataDir, port: launched.access.port })
    const supervised = supervise({ log, relaunch }, { ...input, url, first: launched.server }, closing.signal)
    let closed: Promise<void> | undefined
    const close = async () => {
      closing.abort()
      try {
        await supervised
        log.info('embedded Postgres is stopped')
      } finally {
        await ownership.release()
      }
    }
    return {
      url,
      close() {
        closed ??= close()
        return closed
      },
    }
  } catch (error) {
    await ownership.release()
    throw error
  }
}

/** Brings everything to where the server can be started: programs, user, files, password. */
async function prepare(dataDir: string) {
  const binaries = await openBinaries(findBinaryPackage(), join(dataDir, 'postgres.lib'))
  const runAs = await findRunAs(binaries, dataDir)
  await stopOrphans(join(dataDir, 'postgres'))
  const kept = await readAccess(dataDir)
  const password = kept?.password ?? makePassword()
  const fresh = await makeCluster({ runAs, binaries }, { dataDir, password })
  if (!kept && !fresh) await setPassword({ runAs, binaries }, { dataDir, password })
  return { binaries, runAs, password, keptPort: kept?.port }
}

async function launchFirst(
  deps: { log: Logger; signal?: AbortSignal },
  input: Awaited<ReturnType<typeof prepare>> & { dataDir: string; port?: number },
): Promise<Launched> {
  for (let attempt = 1; ; attempt++) {
    const access = { password: input.password, port: await choosePort(input) }
    if (access.port !== input.keptPort) await writeAccess(input.dataDir, access)
    const server = await startServer({ ...input, port: access.port })
    try {
      await waitUntilReady(server, { ...input, url: makeUrl(access) }, deps.log, deps.signal)
      return { server, access }
    } catch (error) {
      await server.stop()
      deps.signal?.throwIfAborted()
      if (attempt === PORT_ATTEMPTS || (await isPortFree(access.port))) throw error
    }
  }
}

async function choosePort(input: { port?: number; keptPort: number | undefined }): Promise<number> {
  if (input.port === undefined) return findFreePort(input.keptPort)
  if (await isPortFree(input.port)) return input.port
  throw new ConfigError(
    'embedded_port_taken',
    `cannot start the embedded Postgres: port ${input.port} is taken; end the program that listens there`,
  )
}

/** Keeps the server running until the signal aborts, then stops it. */
async function supervise(
  deps: { log: Logger; relaunch: () => Promise<Server> },
  input: { dataDir: string; url: string; first: Server },
  signal: AbortSignal,
): Promise<void> {
  const { log, relaunch } = deps
  const aborted = new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  let server = input.first
  let deaths = 0
  let startedAt = Date.now()
  for (;;) {
    const how = await Promise.race([server.ended, aborted])
    if (signal.aborted) return server.stop()
    deaths = Date.now() - startedAt > SETTLED_MS ? 1 : deaths + 1
    const pauseMs = backoffMs(RELAUNCH, deaths)
    log.error(
      { how, pauseMs, lines: await server.readLogTail() },
      'embedded Postgres ended; starting it again',
    )
    startedAt = Date.now()
    try {
      await sleep(pauseMs, signal)
      await stopOrphans(join(input.dataDir, 'postgres'))
      server = await relaunch()
      await waitUntilReady(server, input, log, signal)
      log.warn({ ms: Date.now() - startedAt }, 'embedded Postgres is ready again')
    } catch (error) {
      if (!signal.aborted) log.warn({ reason: errorLine(error) }, 'embedded Postgres did not start')
    }
  }
}
