import { withRun } from '../../core/store/runs.ts'
import { TransientError } from '../../kit/errors.ts'
import { makeReceivers, type ReceiverRequest, sendRequest } from '../../kit/http/send-request.ts'
import { shorten } from '../../kit/text.ts'
import type { App } from '../../program/app/app.ts'
import { withRemedy } from '../../program/app/remedy.ts'
import { collectFindings } from '../../program/frame/findings/collect-findings.ts'
import { type FactsApp, makeFacts } from '../../program/frame/findings/facts.ts'
import { type Finding, isOpen, isSaid } from '../../program/frame/findings/finding.ts'
import { heartbeatSettings } from './settings.ts'

const RUN = { accountId: null, resource: 'heartbeat', kind: 'schedule' }

/**
 * Reports to the monitor of MUSETTE_HEARTBEAT_URL the findings that are meant for heartbeats, or that there are none. Sends nothing while a
 * finding may soon clear, for example after a start. The run is `partial` if the monitor was told of a problem. Throws TransientError
 * `heartbeat_not_taken` if the monitor did not accept the heartbeat, and the errors of the database.
 */
export async function sendRoundHeartbeat(
  app: FactsApp & Pick<App, 'log'>,
  input: { startedAt: Date; now: Date; signal: AbortSignal },
): Promise<void> {
  const { store, config, log } = app
  const { url } = heartbeatSettings.of(config)
  if (url === undefined) return
  const findings = await collectFindings(makeFacts(app, input.now), { place: 'heartbeat' })
  const wrong = findings.filter((finding) => isSaid(finding, input))
  if (wrong.length === 0 && findings.some((finding) => isOpen(finding, input))) return
  const problem = wrong.length > 0 ? describeToMonitor(wrong) : undefined
  const dispatcher = makeReceivers(config.proxies)
  try {
    await withRun(store, RUN, async (tally) => {
      const request = makeHeartbeatRequest(url, problem)
      const answer = await sendRequest(request, { signal: input.signal, dispatcher })
      const { ms } = answer
      const failure = NO_SUCH_CHECK.test(answer.beginning)
        ? 'the monitor knows no check with this address'
        : answer.failure
      if (failure !== undefined)
        throw new TransientError(
          'heartbeat_not_taken',
          `the heartbeat URL (MUSETTE_HEARTBEAT_URL) failed: ${failure}`,
        )
      tally.failed = wrong.length
      if (problem === undefined) log.debug({ ms }, 'heartbeat: told the monitor that all is in order')
      else log.warn({ ms, problem }, 'heartbeat: told the monitor that something is wrong')
    })
  } finally {
    await dispatcher.destroy()
  }
}

/**
 * Describes the problems for a third-party monitor, without names of files, folders and errors, because the text may become part of the
 * monitor's URL.
 */
function describeToMonitor(findings: readonly Finding[]): string {
  const phrases = findings.map(({ rule, account }) => {
    const phrase = rule?.code.replaceAll('_', ' ') ?? ''
    return account === undefined ? phrase : `${phrase} (account "${account}")`
  })
  return withRemedy([...new Set(phrases)].join(', '), { run: 'musette status' })
}

/** Maximum length of a message for Kuma, which puts it into the URL and shows it on one line. */
const LONGEST_KUMA_MESSAGE = 200
/** The path of Uptime Kuma's push URLs. */
const KUMA_PATH = /\/api\/push\//
/** Start of healthchecks.io's answer to an unknown address, which has status 200 although nothing was recorded. */
const NO_SUCH_CHECK = /^OK \(not found\)/

/**
 * Makes the request that reports success to a monitor, or a failure with `problem`, one sentence. For an Uptime Kuma push monitor it adds
 * Kuma's parameters. Any other address follows healthchecks.io: the address itself, or `/fail` below it with the sentence as the body. The
 * rest of the address, such as a query, stays.
 */
export function makeHeartbeatRequest(address: string, problem: string | undefined): ReceiverRequest {
  const url = new URL(address)
  if (KUMA_PATH.test(url.pathname)) {
    url.searchParams.set('status', problem === undefined ? 'up' : 'down')
    url.searchParams.set('msg', shorten(problem ?? 'OK', LONGEST_KUMA_MESSAGE))
    return { url: url.href, method: 'GET' }
  }
  if (problem === undefined) return { url: url.href, method: 'POST' }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/fail`
  return {
    url: url.href,
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: problem,
  }
}
