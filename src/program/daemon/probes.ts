import { stat } from 'node:fs/promises'
import type { DropFolder } from '../../core/dropfolder/drop-folder.ts'
import type { Jobs } from '../../core/jobs/jobs.ts'
import type { AccountHealth } from '../../core/store/account-status.ts'
import { tryWrite } from '../../core/store/try-write.ts'
import { errorCode } from '../../kit/errors.ts'
import { MINUTE, SECOND } from '../../kit/time.ts'
import { makeCachedProbe } from '../frame/cached-probe.ts'
import { collectFindings } from '../frame/findings/collect-findings.ts'
import { type FactsApp, makeFacts } from '../frame/findings/facts.ts'
import type { Readiness } from '../web/health-routes.ts'
import type { Role } from './roles.ts'

/** How long a result is reused, ms. Any client may request the readiness, so database and queue must not be read each time. */
const KEEP_MS = 1 * SECOND
/** How often a write is tried, ms, because each write takes a transaction number. */
const WRITE_EVERY_MS = 5 * SECOND
/** Longest scan of the drop folder, ms, that does not count as stuck. A scan of a hundred thousand files on a slow share takes minutes. */
const LONGEST_WALK_MS = 10 * MINUTE
/** Timeout of one probe, ms: shorter than that of `musette healthcheck`, so that the answer names the missing part. */
const TIMEOUT_MS = 3 * SECOND

const NOTHING = { identity: undefined, accounts: [], findings: [] }

/**
 * Makes the readiness check: database, queue and disk answer, and every signed-in account was polled lately. Late polls make only workers
 * unready, because workers do the polls; the dashboard, which shows the delay, stays reachable. A drop folder that cannot be read, or whose
 * scan does not end, makes its watchers unready; single waiting files do not.
 */
export function makeReadiness(
  deps: {
    app: FactsApp
    jobs: Pick<Jobs, 'counts'>
    dropFolder?: Pick<DropFolder, 'walkingSince'> | undefined
  },
  roles: readonly Role[],
): () => Promise<Readiness> {
  const { config } = deps.app
  const options = { keepMs: KEEP_MS, timeoutMs: TIMEOUT_MS }
  const written = makeCachedProbe(() => deps.app.store.transaction(tryWrite), {
    keepMs: () => WRITE_EVERY_MS,
  })
  const database = makeCachedProbe(async () => {
    const facts = makeFacts(deps.app, new Date())
    const { identity } = await facts.identity()
    // A read-only server refuses this query, and it takes no transaction number.
    await deps.app.store.transaction(({ client }) =>
      client.query('SELECT FROM musette.locks WHERE false FOR UPDATE'),
    )
    await written()
    return {
      identity,
      accounts: await facts.health(),
      findings: await collectFindings(facts, { place: 'ready' }),
    }
  }, options)
  const counts = makeCachedProbe(() => deps.jobs.counts(), options)
  // Ignores errors, because the probe looks only for threads that hang on a pipe or a dead share.
  const files = makeCachedProbe(() => stat(config.dataDir).catch(() => undefined), options)
  return async () => {
    const [found, queue, disk] = await Promise.allSettled([database(), counts(), files()] as const)
    const { identity, accounts, findings } = found.status === 'fulfilled' ? found.value : NOTHING
    const countOf = (check: string) => findings.filter((each) => each.check === check && each.rule).length
    const late = countOf('mirror')
    const parts: Record<string, string> = {
      database: stateOf(found),
      queue: stateOf(queue),
      files: disk.status === 'fulfilled' ? 'ok' : 'the disk does not answer; restart the daemon',
    }
    if (roles.includes('worker') && found.status === 'fulfilled')
      parts.polls =
        late === 0 ? 'ok' : `${late} of ${accounts.length} accounts not polled lately; run: musette status`
    if (roles.includes('watcher') && found.status === 'fulfilled') {
      const since = deps.dropFolder?.walkingSince()?.getTime() ?? Number.POSITIVE_INFINITY
      const isStuck = Date.now() - since > LONGEST_WALK_MS
      const scan = isStuck
        ? `a scan has not ended since ${new Date(since).toISOString()}; restart the daemon`
        : 'ok'
      parts.drop_folder = countOf('waiting files') > 0 ? 'cannot be read; run: musette doctor' : scan
    }
    const pollOf = ({ needs_login: isEnded, polled_at: at }: AccountHealth) =>
      isEnded ? 'needs login' : `last poll: ${at?.toISOString() ?? 'never'}`
    return {
      ready: Object.values(parts).every((state) => state === 'ok'),
      parts,
      identity,
      server: deps.app.store.server(),
      accounts: Object.fromEntries(accounts.map((status) => [status.account, pollOf(status)])),
    }
  }
}

/** Returns a probe's state as text. An error shows only its code: the message may contain hosts and users, and no login is needed to read it. */
function stateOf(probed: PromiseSettledResult<unknown>): string {
  if (probed.status === 'fulfilled') return 'ok'
  const code = errorCode(probed.reason)
  if (code === 'database_disk_full') return 'its disk is full; run: musette doctor'
  return `unreachable (${code}); run: musette status`
}
