import { asQueueError, makeBackendChoice, REPLICA } from '../../core/jobs/backend.ts'
import { fetchRedisFacts, type RedisFacts } from '../../core/jobs/redis.ts'
import { inspectQueue, type QueueFacts } from '../../core/jobs/schedules.ts'
import { findAccounts } from '../../core/store/account-rows.ts'
import { findIdentity } from '../../core/store/database-facts.ts'
import { FEATURES } from '../../features/index.ts'
import { ConfigError } from '../../kit/errors.ts'
import { redisCliAddress } from '../../kit/redis/redis-url.ts'
import { countOf, formatBytes } from '../../kit/text.ts'
import { remedyOf } from '../app/remedy.ts'
import { loadCatalog } from '../frame/feature-jobs.ts'
import { type Finding, leftOut, ok, problem, problemOf, warning } from '../frame/findings/finding.ts'
import type { DoctorContext } from './doctor-context.ts'

/** Checks how many jobs wait in the queue, and that every schedule exists. */
export async function checkQueue({ config, mirror }: DoctorContext): Promise<Finding[]> {
  const found = await mirror()
  if ('reason' in found) return [leftOut(found.reason)]
  const accounts = await found.store.read(findAccounts)
  const database = await found.store.read(findIdentity)
  const { redisUrl } = config
  let facts: QueueFacts | undefined
  try {
    facts = await inspectQueue({
      backend: makeBackendChoice(redisUrl, found.url, database),
      accounts: accounts.map(({ accountId }) => accountId),
      catalog: await loadCatalog(config, FEATURES),
    })
  } catch (error) {
    const named = asQueueError(error)
    return [redisUrl && !(named instanceof ConfigError) ? leftOut('Redis cannot be used') : problemOf(named)]
  }
  return facts ? queueFindings(facts) : [ok('there is no queue yet; musette start makes it')]
}

function queueFindings({ counts, paused, schedules }: QueueFacts): Finding[] {
  const sum = (state: string) => (counts.polls[state] ?? 0) + (counts.fetches[state] ?? 0)
  const found = `${sum('waiting')} jobs wait, ${sum('active')} run, ${sum('delayed')} are for later`
  const findings: Finding[] = []
  for (const queue of paused) {
    const stopped = `the queue "${queue}" is paused, so nothing is mirrored; a running daemon resumes it within five minutes`
    findings.push(warning(stopped, 'musette start'))
  }
  const right = schedules.wanted - schedules.wrong.length
  if (schedules.wrong.length > 0) {
    const missing = `${right} of ${schedules.wanted} schedules are correct; a running daemon repairs the others within five minutes`
    findings.push(warning(missing, 'musette start'))
  }
  if (sum('failed') > 0) {
    findings.push(warning(`${countOf(sum('failed'), 'job', 'jobs')} failed this week`, 'musette status'))
  }
  return [ok(`${found}; ${right} of ${schedules.wanted} schedules`), ...findings]
}

const LEAST = [6, 2] as const
/** The share of its memory limit above which Redis gets a warning: without eviction, Redis refuses new jobs at the limit. */
const MEMORY_SHARE = 0.9

/** Checks that Redis answers and that its settings lose no jobs. */
export async function checkRedis({ config }: Pick<DoctorContext, 'config'>): Promise<Finding[]> {
  const { redisUrl } = config
  if (redisUrl === undefined) return [ok('REDIS_URL is not set: the queue is in Postgres')]
  let nodes: RedisFacts[]
  try {
    nodes = await fetchRedisFacts(redisUrl)
  } catch (error) {
    return [problemOf(error, remedyOf(error, config))]
  }
  const findings = nodes.flatMap((facts) => redisFindings(facts, redisUrl, nodes.length > 1))
  if (findings.some(({ state }) => state === 'problem')) return findings
  const used = nodes.map(({ usedMemory }) => formatBytes(usedMemory)).join(', ')
  const kind = nodes.some(({ isCluster }) => isCluster) ? ' Cluster' : ''
  return [ok(`Redis${kind} ${nodes[0]?.version}, ${used} used`), ...findings]
}

function redisFindings(facts: RedisFacts, url: string, isOneOfSeveral: boolean): Finding[] {
  const { host, port } = facts.server
  const redis = isOneOfSeveral ? `Redis on ${host}:${port}` : 'Redis'
  // The server itself; a group of sentinels or a Cluster has several.
  const cli = `redis-cli -u ${redisCliAddress(url, facts.server)}`
  const findings: Finding[] = []
  const [major = 0, minor = 0] = facts.version.split('.').map(Number)
  if (major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1])) {
    const found = `${redis} has version ${facts.version}, which is too old: ${LEAST.join('.')} is the least`
    findings.push(problem('configuration', found))
  }
  if (facts.isReplica) findings.push(problem('configuration', REPLICA.found, REPLICA.run))
  if (facts.notReady) {
    const look = facts.isCluster ? 'cluster nodes' : 'info persistence'
    findings.push(problem('unreachable', `${redis} takes no jobs: ${facts.notReady}`, `${cli} ${look}`))
  }
  if (facts.evictionPolicy) {
    const found = `${redis} may throw jobs away when its memory is full: maxmemory-policy is ${facts.evictionPolicy}; write noeviction into its redis.conf, too`
    findings.push(problem('configuration', found, `${cli} config set maxmemory-policy noeviction`))
  }
  if (facts.maxMemory > 0 && facts.usedMemory > MEMORY_SHARE * facts.maxMemory) {
    const found = `${redis} uses ${formatBytes(facts.usedMemory)} of ${formatBytes(facts.maxMemory)} and will soon refuse new jobs`
    findings.push(warning(found, `${cli} config set maxmemory ${2 * facts.maxMemory}`))
  }
  if (!facts.lastWriteOk) {
    const found = `${redis} could not write to its disk and refuses new jobs; look at its log and its disk`
    findings.push(problem('unexpected', found, `${cli} info persistence`))
  }
  if (!facts.appendOnly) {
    const found = `${redis} keeps no append-only file: jobs that are lost in a crash are found again, but later; write appendonly yes into its redis.conf, too`
    findings.push(warning(found, `${cli} config set appendonly yes`))
  }
  return findings
}
