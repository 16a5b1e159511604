import { pino } from 'pino'
import { openService } from '../../../src/core/service/service.ts'
import { makeCredentials, makeMemoryVault } from './memory-vault.ts'

/** Fetches activities and lists from the address in its arguments, four of each at a time, and prints the codes and the most memory in MB. */
const [, , origin = ''] = process.argv
const vault = makeMemoryVault({ 1: makeCredentials(new Date(), { origin }) })
const service = openService(
  { vault, log: pino({ level: 'silent' }), sleep: async () => undefined },
  { concurrency: 4, requestsPerMinute: 10_000, userAgent: 'a test' },
)
const account = service.forAccount({ accountId: 1, name: 'default', baseUrl: origin })
const codeOf = (error: unknown) => (error as { code?: unknown }).code ?? String(error)
const codes: unknown[] = []
for (const [index, kind] of (process.env.KINDS ?? '').split(' ').entries()) {
  // The server knows by its first second which list is meant.
  const wide = { from: new Date(index * 1_000), to: new Date() }
  const fetches = [0, 1, 2, 3].flatMap((n) => [
    account
      .fetchActivity(`${kind}-${n}`, { samples: true })
      .then(({ value }) => value.session_data?.count ?? 0, codeOf),
    ...(n === 0 && kind !== 'honest' ? [account.listActivities(wide).then(() => 'list', codeOf)] : []),
  ])
  codes.push([kind, ...new Set(await Promise.all(fetches))])
}
await service.close()
process.stdout.write(JSON.stringify({ codes, mb: process.resourceUsage().maxRSS / 1_024 }))
