import { readFileSync } from 'node:fs'
import tls from 'node:tls'
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool, ProxyAgent } from 'undici'
import { errorCode, TransientError } from './errors.ts'
import { watchAnswerHeads } from './http/answer-heads.ts'
import { joinSignals, SECOND } from './time.ts'

/** The HTTP proxies between this machine and others; `none` lists the hosts that are reached without one, as NO_PROXY does. */
export type Proxies = Readonly<{ http: string | undefined; https: string | undefined; none: string }>

/** This machine is never reached through a proxy. */
const LOOPBACK = 'localhost,127.0.0.1,[::1]'

const TUNNEL_REFUSED = 'the proxy answers, and wants no password, but makes no tunnel to this address'

/**
 * Makes a pool of connections, which open at their first use: direct ones, or tunnels through the proxies. Without a proxy for https that for http serves both.
 * A plain http request to which the proxy refuses a tunnel is given to the proxy itself. `connectMs` is the longest that a connection or
 * a tunnel may take, ms. Requests throw TransientError `proxy_failed` with the proxy's name, without its password.
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
    // An empty text prevents the library from reading the environment.
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
 * Returns the connections to one proxy, each of which becomes a tunnel. Every failure is an error of ours: undici would take a connection
 * that the proxy closes for one that was idle, and connect again at once, thousands of times.
 */
function tunnelPool(proxy: URL, options: Pool.Options, connectMs: number): Pool {
  const fail = (what: string, cause: unknown): never => {
    const message = `the proxy ${proxy.origin} ${what}; look at HTTPS_PROXY and HTTP_PROXY; run: musette config`
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
      if (status === 407) return fail('wants a user and a password, or other ones (HTTP 407)', undefined)
      return fail(`refused a tunnel (HTTP ${status})`, TUNNEL_REFUSED)
    }
  }
  return new TunnelPool(proxy, options)
}

/**
 * Lets later TLS connections of this process trust the certificates of a file, too, as NODE_EXTRA_CA_CERTS of the environment does:
 * Node reads that at its start, and Node 20 has no other way. Connections with authorities of their own trust those alone.
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
