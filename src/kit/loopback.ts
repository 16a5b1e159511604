/** The names of this machine to itself. */
const LOOPBACK: readonly string[] = ['127.0.0.1', '::1', 'localhost']

/** Tells whether a host, as in a URL or as an address to listen on, is this machine and no other can reach it. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host.replace(/[[\]]/g, '').toLowerCase())
}

/** Tells whether others can read the traffic to an address: plain http to another machine. */
export function isPlainHttp(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol !== 'https:' && !isLoopback(hostname)
}
