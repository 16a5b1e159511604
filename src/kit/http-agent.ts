import { Agent, EnvHttpProxyAgent } from 'undici'

/** The HTTP proxies between this machine and others; `none` lists the hosts that are reached without one, as NO_PROXY does. */
export type Proxies = Readonly<{ http: string | undefined; https: string | undefined; none: string }>

/** This machine is never reached through a proxy. */
const LOOPBACK = 'localhost,127.0.0.1,[::1]'

/**
 * Makes a pool of connections, which open at their first use: direct ones, or tunnels through the proxies. Without a proxy for https that for http serves both.
 * `connectMs` is the longest that a connection may take, ms.
 */
export function makeAgent(
  proxies: Proxies | undefined,
  options: { connectMs: number; pipelining?: number },
): Agent | EnvHttpProxyAgent {
  const { connectMs, ...more } = options
  const direct = { ...more, connect: { timeout: connectMs } }
  if (!proxies) return new Agent(direct)
  return new EnvHttpProxyAgent({
    ...direct,
    proxyTls: { timeout: connectMs },
    // An empty text keeps the library from reading the environment by itself.
    httpProxy: proxies.http ?? '',
    httpsProxy: proxies.https ?? '',
    noProxy: proxies.none === '*' ? '*' : `${LOOPBACK},${proxies.none}`,
  })
}
