import { join } from 'node:path'
import type { Logger } from 'pino'
import { ConfigError, errorLine } from '../kit/errors.ts'
import { type Backoff, backoffMs, MINUTE, SECOND, sleep } from '../kit/time.ts'
import { type Access, chooseFreePort, isPortFree, makePassword, readAccess, writeAccess } from './access.ts'
import { openBinaries, resolveBinaryPackage } from './binaries.ts'
import { makeUrl, prepareCluster, setPassword } from './cluster.ts'
import type { Lock } from './lock.ts'
import { type Server, startServer, waitUntilReady } from './postgres-server.ts'
import { stopOrphans } from './processes.ts'
import { detectRunAs } from './run-as.ts'

export type SupervisedServer = { url: string; close(): Promise<void> }

type Launched = { server: Server; access: Access }

/** A server dies of a full disk or of memory shortage; both last for a while. */
const RELAUNCH: Backoff = { firstMs: 200, maxMs: 30 * SECOND, factor: 2 }
/** After this time without a crash the pauses start again. */
const SETTLED_MS = MINUTE
/** Another program can take the port between our check and the server's start, but hardly five times. */
const PORT_ATTEMPTS = 5

/**
 * Runs the server of `dataDir` until `close`, and starts it again on the same port whenever it dies. The caller has acquired
 * `lock`; `close` releases it, as does a failed start. Throws ConfigError `embedded_port_taken` when the given `port` is in use.
 */
export async function openSupervisedServer(
  deps: { log: Logger; lock: Lock; signal?: AbortSignal },
  input: { dataDir: string; port?: number },
): Promise<SupervisedServer> {
  const { log, lock } = deps
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
        await lock.release()
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
    await lock.release()
    throw error
  }
}

/** Prepares the start of the server: programs, user, files, password. */
async function prepare(dataDir: string) {
  const binaries = await openBinaries(resolveBinaryPackage(), join(dataDir, 'postgres.lib'))
  const runAs = await detectRunAs(binaries, dataDir)
  await stopOrphans(join(dataDir, 'postgres'))
  const kept = await readAccess(dataDir)
  const password = kept?.password ?? makePassword()
  const fresh = await prepareCluster({ runAs, binaries }, { dataDir, password })
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
  if (input.port === undefined) return chooseFreePort(input.keptPort)
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
