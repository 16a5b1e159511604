import { inspectQueue, type QueueFacts } from '../../../jobs/inspect.ts'
import { systemClock } from '../../../kit/clock.ts'
import { findAccounts } from '../../../store/accounts.ts'
import { intervalsOf } from '../../intervals.ts'
import { type Finding, leftOut, ok, problemOf, warning } from '../finding.ts'
import type { Patient } from '../patient.ts'

/** Looks how much waits in the queue, and whether every schedule is there. */
export async function checkQueue({ config, mirror }: Patient): Promise<Finding[]> {
  const found = await mirror()
  if ('reason' in found) return [leftOut(found.reason)]
  const accounts = await found.store.read(findAccounts)
  const { redisUrl } = config
  let facts: QueueFacts | undefined
  try {
    facts = await inspectQueue(
      { clock: systemClock },
      {
        backend: redisUrl ? { kind: 'redis', url: redisUrl } : { kind: 'postgres', url: found.url },
        accounts: accounts.map(({ accountId }) => accountId),
        every: intervalsOf(config),
      },
    )
  } catch (error) {
    return [redisUrl ? leftOut('Redis cannot be used') : problemOf(error)]
  }
  return facts ? judge(facts) : [ok('there is no queue yet; musette start makes it')]
}

function judge({ counts, paused, schedules }: QueueFacts): Finding[] {
  const sum = (state: string) => (counts.polls[state] ?? 0) + (counts.fetches[state] ?? 0)
  const found = `${sum('waiting')} jobs wait, ${sum('active')} run, ${sum('delayed')} are for later`
  const findings: Finding[] = []
  for (const queue of paused) {
    const stopped = `the queue "${queue}" is paused, so nothing is mirrored; a daemon that runs resumes it within a minute`
    findings.push(warning(stopped, 'musette start'))
  }
  const right = schedules.wanted - schedules.wrong.length
  if (schedules.wrong.length > 0) {
    const missing = `${right} of ${schedules.wanted} schedules are as they should be; a daemon that runs mends that within a minute`
    findings.push(warning(missing, 'musette start'))
  }
  if (sum('failed') > 0) {
    findings.push(warning(`${sum('failed')} jobs of the last week have failed for good`, 'musette status'))
  }
  return [ok(`${found}; ${right} of ${schedules.wanted} schedules`), ...findings]
}
