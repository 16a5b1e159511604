import { pino } from 'pino'
import { openService } from '../../../src/core/service/service.ts'
import { makeCredentials, makeMemoryVault } from './memory-vault.ts'

/**
 * Fetches activities and lists from the address in its argument, four of each at a time. Prints the codes and the maximum bytes outside the
 * heap.
 */
const [, , origin = ''] = process.argv
const vault = makeMemoryVault({ 1: makeCredentials(new Date(), { origin }) })
const service = openService(
  { vault, log: pino({ level: 'silent' }), sleep: async () => undefined },
  { concurrency: 4, requestsPerMinute: 10_000, userAgent: 'a test' },
)
const account = service.forAccount({ accountId: 1, name: 'default', baseUrl: origin })
const codeOf = (error: unknown) => (error as { code?: unknown }).code ?? String(error)
/** Maximum bytes in use outside the heap; a collection before each measurement frees unused bytes. */
let outside = 0
const looking = setInterval(() => {
  globalThis.gc?.()
  outside = Math.max(outside, process.memoryUsage().external)
}, 200)
const codes: unknown[] = []
for (const [index, kind] of (process.env.KINDS ?? '').split(' ').entries()) {
  // The server identifies the list by its first second; a list of one second is not split.
  const second = { from: new Date(index * 1_000), to: new Date((index + 1) * 1_000) }
  const fetches = [0, 1, 2, 3].flatMap((n) => [
    account
      .fetchActivity(`${kind}-${n}`, { samples: true })
      .then(({ value }) => value.session_data?.count ?? 0, codeOf),
    ...(n === 0 && kind !== 'honest' ? [account.listActivities(second).then(() => 'list', codeOf)] : []),
  ])
  codes.push([kind, ...new Set(await Promise.all(fetches))])
}
clearInterval(looking)
await service.close()
process.stdout.write(JSON.stringify({ codes, outside }))
