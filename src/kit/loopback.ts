/** Host names and addresses of this machine that only it can reach. */
const LOOPBACK: readonly string[] = ['127.0.0.1', '::1', 'localhost']

/** Reports whether a host, from a URL or to listen on, is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host.replace(/[[\]]/g, '').toLowerCase())
}

/** Reports whether others can read the traffic to a URL: plain http to another machine. Throws TypeError if the string is not a URL. */
export function isPlainHttp(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol !== 'https:' && !isLoopback(hostname)
}
