import { isLoopback } from '../web/access/origin.ts'

/** Whether what is sent to an address can be read on the way: plain http to another machine. */
export function isPlainHttp(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol !== 'https:' && !isLoopback(hostname)
}
