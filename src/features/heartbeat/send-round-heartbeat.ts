import { withRun } from '../../core/mirror/mirror.ts'
import { TransientError } from '../../kit/errors.ts'
import { makeReceivers } from '../../kit/http/send-request.ts'
import type { App } from '../../program/app/app.ts'
import { withRemedy } from '../../program/app/remedy.ts'
import { collectFindings } from '../../program/frame/findings/collect-findings.ts'
import { type FactsApp, makeFacts } from '../../program/frame/findings/facts.ts'
import { type Finding, isOpen, isSaid } from '../../program/frame/findings/finding.ts'
import { sendHeartbeat } from './heartbeat.ts'
import { heartbeatSettings } from './settings.ts'

const RUN = { accountId: null, resource: 'heartbeat', kind: 'schedule' }

/**
 * Sends the monitor of MUSETTE_HEARTBEAT_URL what is wrong by the findings that a heartbeat says, or that all is in order; nothing while a
 * finding may soon be over, as after a start. Its run is `partial` when the monitor was told of a problem. Throws TransientError `heartbeat_not_taken`
 * when the monitor did not take it, and the errors of the database.
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
      const { signal } = input
      const { failure, ms } = await sendHeartbeat(url, { problem, signal, dispatcher })
      if (failure !== undefined)
        throw new TransientError(
          'heartbeat_not_taken',
          `the heartbeat URL (MUSETTE_HEARTBEAT_URL) failed: ${failure}`,
        )
      tally.failed = wrong.length
      if (problem === undefined) log.debug({ ms }, 'heartbeat: all is in order')
      else log.warn({ ms, problem }, 'heartbeat: the monitor was told that something is not in order')
    })
  } finally {
    await dispatcher.destroy()
  }
}

/** Says to a monitor, which others run, what is wrong: without names of files, folders and errors, because it may take this in its address. */
function describeToMonitor(findings: readonly Finding[]): string {
  const phrases = findings.map(({ rule, account }) => {
    const phrase = rule?.code.replaceAll('_', ' ') ?? ''
    return account === undefined ? phrase : `${phrase} (account "${account}")`
  })
  return withRemedy([...new Set(phrases)].join(', '), { run: 'musette status' })
}
