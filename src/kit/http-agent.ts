import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool, ProxyAgent } from 'undici'
import { errorCode } from './errors.ts'
import { joinSignals, SECOND } from './time.ts'

/** The HTTP proxies between this machine and others; `none` lists the hosts that are reached without one, as NO_PROXY does. */
export type Proxies = Readonly<{ http: string | undefined; https: string | undefined; none: string }>

/** This machine is never reached through a proxy. */
const LOOPBACK = 'localhost,127.0.0.1,[::1]'

/**
 * Makes a pool of connections, which open at their first use: direct ones, or tunnels through the proxies. Without a proxy for https that for http serves both.
 * A plain http request to which the proxy refuses a tunnel is given to the proxy itself. `connectMs` is the longest that a connection or
 * a tunnel may take, ms. Requests throw ProxyError when it is the proxy that fails.
 */
export function makeAgent(
  proxies: Proxies | undefined,
  options: { connectMs: number; pipelining?: number },
): Dispatcher {
  const { connectMs, ...more } = options
  const limit = { timeout: connectMs }
  const direct = { ...more, connect: limit }
  if (!proxies) return new Agent(direct)
  const tunnels = new EnvHttpProxyAgent({
    ...direct,
    proxyTls: limit,
    requestTls: limit,
    clientFactory: (proxy, options) => makeTunnelPool(proxy, options, connectMs),
    // An empty text keeps the library from reading the environment by itself.
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
        if (errorCode(error) !== 'TUNNEL_REFUSED') return fail?.(controller, error)
        const forward = new ProxyAgent({ uri, proxyTunnel: false, proxyTls: limit })
        forward.dispatch({ ...request, origin: request.origin ?? '' }, handler)
        void forward.close()
      }
    return dispatch(request, handler)
  })
}

/** A failure of an HTTP proxy. The message is for people: it names the proxy without its password, and what to look at. */
export class ProxyError extends Error {
  readonly code: string

  /** The code `TUNNEL_REFUSED`: the proxy answers, and wants no password, but makes no tunnel to this address. */
  constructor({ origin }: URL, what: string, code = 'PROXY_FAILED') {
    super(`the proxy ${origin} ${what}; look at HTTPS_PROXY and HTTP_PROXY`)
    this.code = code
  }
}

/**
 * Makes the connections to one proxy, each of which becomes a tunnel. Every failure is a ProxyError: undici would take a connection
 * that the proxy closes for one that was idle, and connect again at once, thousands of times.
 */
function makeTunnelPool(proxy: URL, options: Pool.Options, connectMs: number): Pool {
  class TunnelPool extends Pool {
    override async connect(request: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
      const within = joinSignals([], connectMs)
      const { signal } = within
      const answering = super.connect({ ...request, signal }).finally(within.clear)
      const answer = await answering.catch((error: unknown) => {
        if (within.isOver()) throw new ProxyError(proxy, `did not answer within ${connectMs / SECOND} s`)
        const code = errorCode(error)
        const isClosed = code === 'UND_ERR_SOCKET' || code === 'ECONNRESET'
        throw new ProxyError(proxy, `${isClosed ? 'closed the connection' : 'cannot be used'} (${code})`)
      })
      const { statusCode: status } = answer
      if (status === 200) return answer
      answer.socket.on('error', () => undefined).destroy()
      if (status === 407) throw new ProxyError(proxy, 'wants a user and a password, or other ones (HTTP 407)')
      throw new ProxyError(proxy, `refused a tunnel (HTTP ${status})`, 'TUNNEL_REFUSED')
    }
  }
  return new TunnelPool(proxy, options)
}
