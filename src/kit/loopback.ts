/** The hosts that mean this machine and are reachable from it only. */
const LOOPBACK: readonly string[] = ['127.0.0.1', '::1', 'localhost']

/** Tells whether a host, from a URL or as an address to listen on, is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host.replace(/[[\]]/g, '').toLowerCase())
}

/** Tells whether the traffic to a URL can be read on the way: plain http to another machine. Throws TypeError without a URL. */
export function isPlainHttp(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol !== 'https:' && !isLoopback(hostname)
}
