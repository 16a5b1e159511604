import type { TokenVault } from '../../core/service/credentials.ts'
import { openService, type Service } from '../../core/service/service.ts'
import { findAccounts } from '../../core/store/account-rows.ts'
import { findIdentity } from '../../core/store/database-facts.ts'
import { chooseFreePort } from '../../embedded/access.ts'
import { errorLine, RejectedError, UnexpectedResponseError } from '../../kit/errors.ts'
import { isLoopback, isPlainHttp } from '../../kit/loopback.ts'
import { VERSION } from '../../kit/program-folder.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { quoteShell } from '../../kit/text.ts'
import { formatDuration, MINUTE, SECOND } from '../../kit/time.ts'
import { remedyOf, withRemedy } from '../app/remedy.ts'
import { type Finding, leftOut, ok, problem, problemOf, warning } from '../frame/findings/finding.ts'
import type { DoctorContext, MirrorContext } from './doctor-context.ts'
import { fetchReadiness, OTHER_PROGRAM } from './fetch-readiness.ts'

/** The largest normal difference of clocks, ms: a synchronized clock is off by less than a second, and a `Date` header has whole seconds. */
const SKEW_WARNING_MS = 30 * SECOND
/** The smallest difference that a header of whole seconds can show, ms. */
const TELLABLE_MS = 2 * SECOND
/** The difference, ms, above which tokens may seem expired, or certificates not yet valid. */
const SKEW_PROBLEM_MS = 30 * MINUTE
/** Timeouts that leave time within a check for two more attempts and the pauses before them. */
const TIMEOUTS = { connectMs: 5 * SECOND, headersMs: 6 * SECOND, totalMs: 6 * SECOND }

const signNobodyIn = async (): Promise<never> => {
  throw new Error('the check of the service does not sign in')
}
/** A vault without tokens, because the only requested endpoint needs no token. */
const NO_VAULT: TokenVault = { read: async () => undefined, findEvidence: signNobodyIn, locked: signNobodyIn }

/** Checks that the service answers at each address in use, without a token, and that the clocks agree. */
export async function checkService({ config, log, mirror }: DoctorContext): Promise<Finding[]> {
  const found = await mirror()
  const accounts = 'reason' in found ? [] : await found.store.read(findAccounts)
  const configured = config.service.baseUrl ? [config.service.baseUrl] : []
  const addresses = new Set([...configured, ...accounts.map(({ baseUrl }) => baseUrl)])
  if (addresses.size === 0) {
    if ('reason' in found && !found.fresh) return [leftOut(found.reason)]
    const missing =
      'MUSETTE_BASE_URL is not set; set it to the address of the service, which docs/settings.md describes'
    return [problem('configuration', missing)]
  }
  const service = openService(
    { vault: NO_VAULT, log },
    {
      concurrency: 1,
      requestsPerMinute: 60,
      userAgent: `musette/${VERSION}`,
      timeouts: TIMEOUTS,
      proxies: config.proxies,
    },
  )
  const findings = await closeAfter(service, () =>
    Promise.all([...addresses].map((address) => probeService({ service, config }, address))),
  )
  return findings.flat()
}

async function probeService(
  { service, config }: { service: Service; config: DoctorContext['config'] },
  baseUrl: string,
): Promise<Finding[]> {
  try {
    const answer = await service.listDefaultWorkouts(baseUrl)
    const answeredAt = new Date()
    const ms = answeredAt.getTime() - answer.requestedAt.getTime()
    const plain = `${baseUrl} is not https, so tokens travel in the clear`
    return [
      ok(`${baseUrl} answers within ${ms} ms`),
      ...(isPlainHttp(baseUrl)
        ? [warning(plain, `export MUSETTE_BASE_URL=${quoteShell(baseUrl.replace(/^http:/, 'https:'))}`)]
        : []),
      ...clockFindings(answer, answeredAt),
    ]
  } catch (error) {
    return [unreachableFinding(config, baseUrl, error)]
  }
}

function unreachableFinding(config: DoctorContext['config'], baseUrl: string, error: unknown): Finding {
  const isWrong = error instanceof UnexpectedResponseError || error instanceof RejectedError
  const remedy = remedyOf(isWrong ? { code: 'not_json' } : error, { ...config, service: { baseUrl } })
  if (!isWrong) return problemOf(error, remedy)
  const found = `${baseUrl}: ${withRemedy(errorLine(error), { hint: remedy.hint })}`
  return problem('configuration', found, remedy.run)
}

function clockFindings(
  answer: { requestedAt: Date; serviceTime: Date | undefined },
  answeredAt: Date,
): Finding[] {
  if (!answer.serviceTime)
    return [warning('the service tells no time, so this clock cannot be compared with its')]
  // A Date header omits the fraction of a second, so add half a second. The service writes it between the request and the answer, so
  // compare it with the middle of the two.
  const theirs = answer.serviceTime.getTime() + SECOND / 2
  const ours = (answer.requestedAt.getTime() + answeredAt.getTime()) / 2
  const skew = ours - theirs
  const found = `this clock is ${formatDuration(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} the service's`
  if (Math.abs(skew) > SKEW_PROBLEM_MS)
    return [problem('configuration', found, 'sudo timedatectl set-ntp true')]
  if (Math.abs(skew) > SKEW_WARNING_MS) return [warning(found, 'sudo timedatectl set-ntp true')]
  return [ok(Math.abs(skew) < TELLABLE_MS ? "this clock agrees with the service's" : found)]
}

/** Checks that the daemon may listen on its address, whether a daemon runs there, and whether it is ready. */
export async function checkDaemon({ config, mirror }: MirrorContext): Promise<Finding[]> {
  const { http } = config
  if (!http) return [ok('MUSETTE_HTTP is off, so it cannot be asked whether it runs')]
  if (!isLoopback(http.host) && http.token === undefined) {
    const found = `MUSETTE_HTTP listens on ${http.host} and MUSETTE_HTTP_TOKEN is not set, so it refuses to start`
    return [problem('configuration', found, 'export MUSETTE_HTTP_TOKEN="$(openssl rand -hex 24)"')]
  }
  const { ready, parts, identity, silent } = await fetchReadiness(config)
  const database = await mirror()
  const own = 'reason' in database ? identity : (await database.store.read(findIdentity)).identity
  if (identity === OTHER_PROGRAM || (identity !== undefined && identity !== own)) {
    const free = `${http.host}:${await chooseFreePort(http.port + 1)}`
    const whose = identity === OTHER_PROGRAM ? 'another program' : 'the daemon of another database'
    const found = `${whose} has ${http.host}:${http.port}, where the one of this database is to listen`
    return [problem('configuration', found, `export MUSETTE_HTTP=${free}`)]
  }
  if (ready) return [ok('runs and is ready')]
  if (silent === 'unknown' || silent?.isStopped) return [problem('unreachable', parts.daemon ?? '')]
  if (silent) {
    const again = 'end it; what started it starts it again, otherwise musette start'
    return [problem('unreachable', `${parts.daemon}; ${again}`, `kill -9 ${silent.pid}`)]
  }
  if (parts.daemon !== undefined)
    return [warning(`none runs, so nothing is mirrored by itself: ${parts.daemon}`, 'musette start')]
  const why = Object.entries(parts).filter(([, state]) => state !== 'ok')
  return [warning(`runs and is not ready: ${why.map(([part, state]) => `${part}: ${state}`).join(', ')}`)]
}
