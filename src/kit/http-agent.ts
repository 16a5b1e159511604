import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool, ProxyAgent } from 'undici'
import { errorCode, TransientError } from './errors.ts'
import { watchAnswerHeads } from './http/answer-heads.ts'
import { joinSignals, SECOND } from './time.ts'

/** The HTTP proxies to other machines. `none`: hosts that are reached without a proxy, as in NO_PROXY. */
export type Proxies = Readonly<{ http: string | undefined; https: string | undefined; none: string }>

/** Hosts of this machine, which are never reached through a proxy. */
const LOOPBACK = 'localhost,127.0.0.1,[::1]'

const TUNNEL_REFUSED = 'the proxy refused a tunnel to this address'

/**
 * Makes a pool of connections that open at first use: direct connections, or tunnels through the proxies. Without a proxy for https, the proxy
 * for http serves both. If a proxy refuses a tunnel for plain http, the request is sent to the proxy itself. `connectMs`: timeout of a
 * connection or a tunnel, ms. Requests throw TransientError `proxy_failed` with the address of the proxy, without its password.
 */
export function makeAgent(proxies: Proxies | undefined, options: { connectMs: number; pipelining?: number }) {
  watchAnswerHeads()
  const { connectMs, ...more } = options
  const limit = { timeout: connectMs }
  const direct = { ...more, connect: limit }
  if (!proxies) return new Agent(direct)
  const tunnels = new EnvHttpProxyAgent({
    ...direct,
    proxyTls: limit,
    requestTls: limit,
    clientFactory: (proxy, options) => tunnelPool(proxy, options, connectMs),
    // An empty text keeps the library from reading the environment.
    httpProxy: proxies.http ?? '',
    httpsProxy: proxies.https ?? '',
    noProxy: proxies.none === '*' ? '*' : `${LOOPBACK},${proxies.none}`,
  })
  const uri = proxies.http
  if (!uri?.startsWith('http:')) return tunnels
  return tunnels.compose((dispatch) => (request, handler) => {
    const fail = handler.onResponseError?.bind(handler)
    if (String(request.origin).startsWith('http:'))
      handler.onResponseError = (controller, error) => {
        if (error.cause !== TUNNEL_REFUSED) return fail?.(controller, error)
        const forward = new ProxyAgent({ uri, proxyTunnel: false, proxyTls: limit })
        forward.dispatch({ ...request, origin: request.origin ?? '' }, handler)
        void forward.close()
      }
    return dispatch(request, handler)
  })
}

/**
 * Returns the connections to one proxy. Each becomes a tunnel. Every failure becomes a TransientError, because if the proxy closes a
 * connection, undici would treat it as idle and reconnect at once, thousands of times.
 */
function tunnelPool(proxy: URL, options: Pool.Options, connectMs: number): Pool {
  const fail = (what: string, cause: unknown): never => {
    const message = `the proxy ${proxy.origin} ${what}; check HTTPS_PROXY and HTTP_PROXY; run: musette config`
    throw new TransientError('proxy_failed', message, { cause })
  }
  class TunnelPool extends Pool {
    override async connect(request: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
      const within = joinSignals([], connectMs)
      const answering = super.connect({ ...request, signal: within.signal }).finally(within.clear)
      const answer = await answering.catch((error: unknown) => {
        if (within.isOver()) return fail(`did not answer within ${connectMs / SECOND} s`, error)
        const code = errorCode(error)
        const isClosed = code === 'UND_ERR_SOCKET' || code === 'ECONNRESET'
        return fail(`${isClosed ? 'closed the connection' : 'cannot be used'} (${code})`, error)
      })
      const { statusCode: status, socket } = answer
      if (status === 200) return answer
      socket.on('error', () => undefined).destroy()
      if (status === 407) return fail('requires a user and a password, or other ones (HTTP 407)', undefined)
      return fail(`refused a tunnel (HTTP ${status})`, TUNNEL_REFUSED)
    }
  }
  return new TunnelPool(proxy, options)
}

/**
 * Makes later TLS connections of this process also trust the certificates in a file, like NODE_EXTRA_CA_CERTS: Node reads that variable only
 * at its start, and Node 20 has no other way. Connections with their own authorities trust only these authorities.
 */
export function trustAlso(path: string): void {
  const certificates = readFileSync(path, 'utf8')
  const make = tls.createSecureContext
  Object.assign(tls, {
    createSecureContext(options: tls.SecureContextOptions = {}) {
      const made = make(options)
      if (options.ca === undefined) made.context.addCACert(certificates)
      return made
    },
  })
}
